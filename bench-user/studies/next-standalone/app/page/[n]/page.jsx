import { PAGES, listed } from "../../../posts.mjs";
import List from "../../list";

export const dynamicParams = false;
export const generateStaticParams = () => Array.from({ length: PAGES }, (_, n) => ({ n: String(n + 1) }));

export default async function Page({ params }) {
  const { n } = await params;
  return <main><h1>Page {n}</h1><List posts={listed(Number(n))} /></main>;
}

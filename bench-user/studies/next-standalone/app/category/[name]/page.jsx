import { CATEGORIES, category, posts } from "../../../posts.mjs";
import List from "../../list";

export const dynamicParams = false;
export const generateStaticParams = () => Array.from({ length: CATEGORIES }, (_, n) => ({ name: category(n) }));

export default async function Category({ params }) {
  const { name } = await params;
  return <main><h1>{name}</h1><List posts={posts.filter((post) => post.category === name)} /></main>;
}

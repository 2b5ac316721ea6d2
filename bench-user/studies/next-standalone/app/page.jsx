import Link from "next/link";
import { PAGES, listed } from "../posts.mjs";
import List from "./list";

export default function Home() {
  return (
    <main>
      <h1>A generated blog</h1>
      <List posts={listed(1)} />
      <p>
        {Array.from({ length: PAGES }, (_, n) => (
          <Link key={n} href={`/page/${n + 1}`} prefetch={false}>{n + 1} </Link>
        ))}
      </p>
    </main>
  );
}

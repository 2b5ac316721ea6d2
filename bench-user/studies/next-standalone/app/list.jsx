import Link from "next/link";

// Some links lead to a post's old address, which redirects.
const address = (post, place) => (place % 5 === 4 ? `/posts/${post.slug}` : `/blog/${post.slug}`);

export default function List({ posts }) {
  return (
    <ul>
      {posts.map((post, place) => (
        <li key={post.slug}>
          <Link href={address(post, place)} prefetch={false}>{post.title}</Link> in{" "}
          <Link href={`/category/${post.category}`} prefetch={false}>{post.category}</Link>
        </li>
      ))}
    </ul>
  );
}

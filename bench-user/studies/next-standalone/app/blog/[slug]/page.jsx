import { posts } from "../../../posts.mjs";

export const dynamicParams = false;
export const generateStaticParams = () => posts.map(({ slug }) => ({ slug }));

export default async function Post({ params }) {
  const { slug } = await params;
  const post = posts.find((one) => one.slug === slug);
  return (
    <main>
      <h1>{post.title}</h1>
      {post.paragraphs.map((text, place) => <p key={place}>{text}</p>)}
    </main>
  );
}

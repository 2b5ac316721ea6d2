// `standalone` puts the server and all it needs into `.next/standalone`, which is what is measured.
export default {
  output: "standalone",
  outputFileTracingRoot: import.meta.dirname,
  images: { unoptimized: true },
  typescript: { ignoreBuildErrors: true },
  // Old addresses of posts: a crawler must end up at the new ones.
  redirects: async () => [{ source: "/posts/:slug", destination: "/blog/:slug", permanent: true }],
};

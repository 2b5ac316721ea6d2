const headers = { "Content-Type": "text/plain" };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  fetch: () => new Response("Hello, World!", { headers }),
});

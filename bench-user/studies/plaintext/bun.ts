const headers: Record<string, string> = { "Content-Type": "text/plain" };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env.PORT),
  fetch: (_request: Request): Response => new Response("Hello, World!", { headers }),
});

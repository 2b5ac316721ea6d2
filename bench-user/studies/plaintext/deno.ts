const headers: Record<string, string> = { "Content-Type": "text/plain" };

Deno.serve(
  { hostname: "127.0.0.1", port: Number(Deno.env.get("PORT")) },
  (_request: Request): Response => new Response("Hello, World!", { headers }),
);

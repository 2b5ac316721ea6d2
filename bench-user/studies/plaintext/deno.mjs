const headers = { "Content-Type": "text/plain" };

Deno.serve(
  { hostname: "127.0.0.1", port: Number(Deno.env.get("PORT")) },
  () => new Response("Hello, World!", { headers }),
);

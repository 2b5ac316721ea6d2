// The proxy in Deno. BUFFER=1: it answers when it has the whole stream.
const { PORT, UPSTREAM, BUFFER } = Deno.env.toObject();
const headers = { "Content-Type": "text/event-stream" };

Deno.serve({ hostname: "127.0.0.1", port: Number(PORT) }, async (request) => {
  const url = new URL(new URL(request.url).pathname, UPSTREAM);
  // Without the request's signal, which fires after good answers too; a client that leaves ends the
  // body, and that the upstream's.
  const upstream = await fetch(url);
  const body = BUFFER ? await upstream.arrayBuffer() : upstream.body;
  return new Response(body, { status: upstream.status, headers });
});

// The proxy in Bun. BUFFER=1: it answers when it has the whole stream. No `idleTimeout` is given, so
// the server cuts a connection after 10 s of silence.
const { PORT, UPSTREAM, BUFFER } = process.env;
const headers = { "Content-Type": "text/event-stream" };

Bun.serve({
  hostname: "127.0.0.1",
  port: Number(PORT),
  async fetch(request) {
    const url = new URL(new URL(request.url).pathname, UPSTREAM);
    // A client that leaves has no more use for its stream.
    const upstream = await fetch(url, { signal: request.signal });
    const body = BUFFER ? await upstream.arrayBuffer() : upstream.body;
    return new Response(body, { status: upstream.status, headers });
  },
});

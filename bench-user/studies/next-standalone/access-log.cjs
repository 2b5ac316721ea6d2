// Writes a line for every answered request, as a server in production does; loaded before the
// server's own code, into Node and Bun alike. Without ACCESS_LOG it does nothing.
if (process.env.ACCESS_LOG) {
  const { Server } = require("node:http");
  const emit = Server.prototype.emit;
  Server.prototype.emit = function (name, request, response) {
    if (name === "request") {
      const begun = process.hrtime.bigint();
      response.on("finish", () => {
        const ms = Number(process.hrtime.bigint() - begun) / 1e6;
        process.stdout.write(`${request.method} ${request.url} ${response.statusCode} ${ms.toFixed(3)} ms\n`);
      });
    }
    return emit.apply(this, arguments);
  };
}

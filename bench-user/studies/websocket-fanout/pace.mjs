// When the next message is published, the same in every runtime: one a turn of the event loop, for
// as long as every client takes them, and no faster than the slowest of them. With INTERVAL_MS one
// every so often instead.

// A client that has more than this before it is behind, bytes.
const BEHIND = 64 * 1024;
// Asking every client costs a turn of its own, so only so many messages are between two questions.
const ASK_EVERY = 16;
// Nothing is published while clients come: it begins when none has come for so long. Else the first
// ones would be flooded before the last ones are connected.
const SETTLED_MS = 300;

// `publish` sends a message to all of `clients`, `buffered` says what is not sent yet to one.
export function pace(intervalMs, clients, buffered, publish) {
  let isRunning = false;
  let published = 0;
  let settling;

  function turn() {
    isRunning = clients.size > 0 && settling === undefined;
    if (!isRunning) return;
    if (published % ASK_EVERY === 0 && isAnyBehind()) {
      setTimeout(turn, 1);
      return;
    }
    publish();
    published += 1;
    if (intervalMs > 0) setTimeout(turn, intervalMs);
    else setImmediate(turn);
  }

  function isAnyBehind() {
    for (const client of clients) if (buffered(client) > BEHIND) return true;
    return false;
  }

  // To be called when a client has come; what was going on pauses, and it stops with the last one.
  return () => {
    clearTimeout(settling);
    settling = setTimeout(() => {
      settling = undefined;
      if (!isRunning) turn();
    }, SETTLED_MS);
  };
}

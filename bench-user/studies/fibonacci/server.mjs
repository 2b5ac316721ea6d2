// An API that computes: GET /fib/30 answers the 30th Fibonacci number, by the plain recursion that
// takes CPU time and nothing else.
import express from "express";

const fibonacci = (n) => (n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2));

const app = express();
app.get("/fib/:n", (request, response) => {
  const n = Number(request.params.n);
  response.json({ n, fibonacci: fibonacci(n) });
});
app.listen(Number(process.env.PORT), "127.0.0.1");

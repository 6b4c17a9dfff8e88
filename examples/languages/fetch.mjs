// HTTP with the fetch of Node 18 or later, of Deno and of Bun.
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// call returns the answer: a decision, also where it is a denial. Other errors are thrown.
async function call(verb, body) {
  const answer = await fetch(`http://127.0.0.1:8080/v1/${verb}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(5000),
  });
  const decision = await answer.json();
  if (answer.ok || answer.status === 429) return decision;
  throw new Error(`${verb}: ${decision.detail}`);
}

for (const request of [1, 2, 3]) {
  let decision = await call("allow", { policy: "api", key: "node-http" });
  while (!decision.allowed && decision.retry_after_ms !== null) {
    console.log(`request ${request}: denied, retry after the wait`);
    await sleep(decision.retry_after_ms);
    decision = await call("allow", { policy: "api", key: "node-http" });
  }
  console.log(`request ${request}: ${decision.allowed ? "allowed" : "never"}, ${decision.remaining} left`);
}

const reserved = await call("reserve", { policy: "tokens", key: "node-http", cost: 400 });
if (!reserved.allowed) throw new Error("reserve: denied");
console.log(`reserved 400: ${reserved.remaining} left`);
const { settled } = await call("commit", { reservation: reserved.reservation, actual: 150 });
const { remaining } = await call("peek", { policy: "tokens", key: "node-http" });
console.log(`committed 150: settled ${Number(settled)}, ${remaining} left`);

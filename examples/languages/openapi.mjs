// A typed client of docs/reference/openapi.yaml: types by openapi-typescript, requests by
// openapi-fetch. `npx tsc --checkJs` finds a wrong path, or a field of another type.
import createClient from "openapi-fetch";

/** @type {ReturnType<typeof createClient<import("./headgate.js").paths>>} */
const client = createClient({ baseUrl: "http://127.0.0.1:8080" });
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits until a request passes, and returns the decision.
 * @param {string} policy @param {string} key @param {(wait: number) => void} denied
 */
async function take(policy, key, denied) {
  for (;;) {
    const { data, error, response } = await client.POST("/v1/allow", { body: { policy, key } });
    if (data && "allowed" in data) return data;
    if (response.status !== 429 || !error || !("retry_after_ms" in error) || error.retry_after_ms == null) {
      throw new Error(error && "detail" in error ? error.detail : "denied for ever");
    }
    denied(error.retry_after_ms);
    await sleep(error.retry_after_ms);
  }
}

for (const request of [1, 2, 3]) {
  const decision = await take("api", "node-openapi", () => console.log(`request ${request}: denied, retry after the wait`));
  console.log(`request ${request}: allowed, ${decision.remaining} left`);
}

const reserved = await client.POST("/v1/reserve", { body: { policy: "tokens", key: "node-openapi", cost: 400 } });
if (!reserved.data || !("reservation" in reserved.data) || !reserved.data.reservation) throw new Error("reserve: denied");
console.log(`reserved 400: ${reserved.data.remaining} left`);
const { data: settled } = await client.POST("/v1/commit", { body: { reservation: reserved.data.reservation, actual: 150 } });
const { data: peeked } = await client.POST("/v1/peek", { body: { policy: "tokens", key: "node-openapi" } });
if (!settled || !("settled" in settled) || !peeked || !("remaining" in peeked)) throw new Error("commit or peek failed");
console.log(`committed 150: settled ${Number(settled.settled)}, ${peeked.remaining} left`);

// RESP with ioredis (npm install ioredis).
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";

const client = new Redis({ host: "127.0.0.1", port: 6380, commandTimeout: 5000 });

async function take(policy, key) {
  const [denied, , remaining, retryAfter] = await client.call("HEADGATE.ALLOW", policy, key);
  return { allowed: !denied, remaining, retryAfter }; // seconds; -1: allowed, or never
}

for (const request of [1, 2, 3]) {
  let answer = await take("api", "node-redis");
  while (!answer.allowed && answer.retryAfter >= 0) {
    console.log(`request ${request}: denied, retry after the wait`);
    await sleep(answer.retryAfter * 1000);
    answer = await take("api", "node-redis");
  }
  console.log(`request ${request}: ${answer.allowed ? "allowed" : "never"}, ${answer.remaining} left`);
}

const [denied, , left, , , , reservation] = await client.call("HEADGATE.RESERVE", "tokens", "node-redis", 400);
if (denied) throw new Error("reserve: denied");
console.log(`reserved 400: ${left} left`);
const settled = await client.call("HEADGATE.COMMIT", reservation, 150);
const [, , remaining] = await client.call("HEADGATE.PEEK", "tokens", "node-redis");
console.log(`committed 150: settled ${settled}, ${remaining} left`);
await client.quit();

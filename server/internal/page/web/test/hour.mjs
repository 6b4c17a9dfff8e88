// A tab that stays open keeps its size: its elements, listeners and memory do not grow with the seconds or the polls.
import assert from "node:assert/strict";
import { browser, env, here, open, signIn } from "./harness.mjs";

const seconds = Number(env.SECONDS);

/**
 * size returns what the tab holds after collections of garbage, of which each follows a frame: what the page has just
 * replaced can be held until its next drawing.
 */
async function size(devtools) {
  let least;
  for (let n = 0; n < 5; n++) {
    await devtools.send("Runtime.evaluate", { expression: "new Promise((drawn) => setTimeout(() => requestAnimationFrame(drawn), 20))", awaitPromise: true });
    await devtools.send("HeapProfiler.collectGarbage");
    const { metrics } = await devtools.send("Performance.getMetrics");
    const of = Object.fromEntries(metrics.map((m) => [m.name, m.value]));
    if (!least || of.Nodes < least.nodes) least = { nodes: of.Nodes, listeners: of.JSEventListeners, heap: of.JSHeapUsedSize };
  }
  return least;
}

function bounded(what, before, after) {
  console.log("#" + what + ": " + JSON.stringify(before) + ", then " + JSON.stringify(after));
  assert.ok(after.nodes <= before.nodes * 1.2 + 100, what + ": nodes grow");
  assert.ok(after.listeners <= before.listeners * 1.2 + 20, what + ": listeners grow");
  assert.ok(after.heap <= before.heap * 1.5 + 2e6, what + ": the memory grows");
}

async function watched(script) {
  const tab = await open();
  await tab.addInitScript(script);
  await tab.goto(here);
  await signIn(tab, env.ADMIN);
  const devtools = await browser.newCDPSession(tab);
  await devtools.send("Performance.enable");
  return [tab, devtools];
}

/**
 * stream replaces the stream of events by window.second, which sends a snapshot with other keys and policies each time,
 * and with the fields of more.
 */
export function stream() {
  const real = window.fetch;
  let template, send;
  window.fetch = async (path, init) => {
    if (!String(path).endsWith("/events")) return real(path, init);
    template = JSON.parse((await (await real(path + "?n=1", init)).text()).match(/event: snapshot\ndata: (.*)/)[1]);
    return new Response(new ReadableStream({ start: (c) => (send = (text) => c.enqueue(new TextEncoder().encode(text))) }));
  };
  const many = (n, of) => Array.from({ length: n }, (_, i) => of(i));
  window.second = (n, more) => {
    const rates = (i) => ({ allowed: 1000 + ((n * 7 + i * 13) % 500), denied: (n + i) % 90, unknown: n % 50 === 0 ? 1 : 0, invalid: 0 });
    const top = (by) => ({ by, span_seconds: 15, sampled: false, keys: many(20, (i) => ({ policy: "p" + ((n + i) % 40), key: by + n + "-" + i, count: 99, least: 99, most: 99, per_second: 9 })) });
    const policies = many(20, (i) => ({ policy: "p" + ((Math.floor(n / 20) + i) % 40), ...rates(i) }));
    const one = { ...template, ...rates(0), at_ms: template.at_ms + n * 1000, p50_us: 40 + (n % 9), p99_us: 900, policies, top_requests: top("requests"), top_denials: top("denials"), ...more };
    send("event: snapshot\ndata: " + JSON.stringify(one) + "\n\n");
  };
  window.ready = () => send !== undefined;
}

/** hour lets the overview take the seconds of an hour, or of a part of it, and draws each twentieth. */
export async function hour() {
  const [tab, devtools] = await watched(stream);
  await tab.waitForFunction(() => window.ready());
  const pass = (from, to) =>
    tab.evaluate(
      async ([from, to]) => {
        for (let n = from; n < to; n++) {
          window.second(n);
          if (n % 20 === 0) await new Promise((drawn) => setTimeout(drawn));
        }
      },
      [from, to],
    );
  await pass(0, 400); // the charts are full after 300
  const before = await size(devtools);
  for (let from = 400; from < seconds; from += 400) await pass(from, from + 400);
  bounded(seconds + " seconds of the overview", before, await size(devtools));
  await tab.close();
}

/** soon makes the polls of a page follow one another at once, and counts them. */
function soon() {
  const [later, real] = [window.setTimeout, window.fetch];
  window.setTimeout = (run, ms, ...rest) => later(run, ms >= 1000 && ms <= 3000 ? 1 : ms, ...rest);
  window.polls = 0;
  window.fetch = (...all) => (window.polls++, real(...all));
}

/** polls lets each other page poll many times, and then opens the pages in turn. */
export async function polls() {
  const [tab, devtools] = await watched(soon);
  const views = ["#/policies/api", "#/key?policy=api&key=steady", "#/changes", "#/policies", "#/"];
  const many = async (n) => tab.waitForFunction((until) => window.polls >= until, (await tab.evaluate(() => window.polls)) + n, { timeout: 60_000 });
  for (const view of views.slice(0, 3)) {
    await tab.goto(here + view);
    await many(30);
    const before = await size(devtools);
    await many(120);
    bounded("120 polls of " + view, before, await size(devtools));
  }
  const turns = async (n) => {
    for (let i = 0; i < n; i++) for (const view of views) await tab.goto(here + view);
  };
  await turns(5);
  const before = await size(devtools);
  await turns(10);
  bounded("the pages in turn", before, await size(devtools));
  await tab.close();
}

// Every view and dialog of the page, and checks of what they show.
import assert from "node:assert/strict";
import { contrasts } from "./contrast.mjs";
import { env, here, open, signIn } from "./harness.mjs";
import { stream } from "./hour.mjs";

export const longPolicy = "a-policy-with-the-longest-name-that-a-policies-file-can-have-064";
const longKey = "k".repeat(1000) + "a";
const key = (policy, name) => "#/key?" + new URLSearchParams({ policy, key: name });
const views = ["#/", "#/policies", "#/policies/strict", "#/policies/plan", "#/policies/" + longPolicy, "#/key", key("pages", "reader"), key("login", longKey), key("lanes", "bulk"), "#/processes", "#/changes"];
/** dialogs have the view and the place of the button that opens them; the last is a form in the page. */
const dialogs = [[key("pages", "reader"), 0], [key("pages", "reader"), 1], [key("pages", "reader"), 2], [key("pages", "reader"), 3], ["#/policies/" + longPolicy, -1]];

/** prepare makes changes whose texts are as long as they can be, and a candidate. */
export async function prepare(tab) {
  const long = { author: "a".repeat(256), reason: "because " + "r".repeat(1000) };
  const changes = [
    { policy: longPolicy, fields: "sliding-window 50/1m", ...long },
    { policy: "pages", key: "reader", fields: "5/1m", ...long, for: "1h" },
    { policy: "strict", fields: { shadow: "4/1s" }, author: "ann" },
  ];
  for (const body of changes) assert.equal(await call(tab, "changes", body), 200);
}

/** restore clears the changes of prepare. */
export async function restore(tab) {
  for (const of of [{ policy: longPolicy }, { policy: "pages", key: "reader" }, { policy: "strict" }]) assert.equal(await call(tab, "changes/clear", { ...of, author: "ann" }), 200);
}

export const call = (tab, path, body) =>
  tab.evaluate(
    ([path, body, token]) => fetch("admin/v1/" + path, { method: "POST", headers: { "Content-Type": "application/json", Authorization: "Bearer " + token }, body }).then((r) => r.status),
    [path, JSON.stringify(body), env.ADMIN],
  );

/** each calls check in every view, and in every dialog. */
export async function each(tab, check) {
  for (const view of views) {
    await tab.goto(here + view);
    await tab.locator("h1").waitFor();
    await tab.waitForFunction(() => document.querySelectorAll("main .panel").length > 0 && !document.querySelector("[aria-busy]"));
    await tab.waitForTimeout(250);
    await check(view);
  }
  for (const [view, place] of dialogs) {
    await tab.goto(here + view);
    await tab.locator("main .buttons button, main .note button").first().waitFor();
    const buttons = tab.locator(place < 0 ? "main .note button" : "main .buttons button");
    await buttons.nth(Math.max(place, 0)).click();
    await tab.locator("dialog").waitFor();
    await tab.waitForTimeout(250);
    await check(view + ", dialog " + place);
    await tab.keyboard.press("Escape");
    await tab.locator("dialog").waitFor({ state: "detached" });
  }
}

/** readable checks the contrast of all texts. */
export async function readable(tab) {
  for (const scheme of ["light", "dark"]) {
    await tab.emulateMedia({ colorScheme: scheme });
    await each(tab, async (view) => assert.deepEqual(await tab.evaluate(contrasts), [], scheme + " " + view + ": too little contrast"));
  }
}

/** fits checks that a narrow screen cuts nothing, and that each time has its zone. */
export async function fits(tab, width) {
  await tab.setViewportSize({ width, height: 840 });
  await each(tab, async (view) => {
    assert.deepEqual(await tab.evaluate(cuts, width), [], view + ": cut at a width of " + width);
    assert.deepEqual(await tab.evaluate(zoneless), [], view + ": times without a zone");
  });
}

/** cuts runs in the page: it returns the elements that are wider than the screen, or cut their content. */
function cuts(width) {
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e);
    if (!e.checkVisibility() || style.clipPath !== "none" || e.closest("thead, .hidden, .skip, .announcer, .u-over, .u-select, svg *, option")) continue;
    const { left, right } = e.getBoundingClientRect();
    const name = e.tagName + "." + e.className + " " + e.textContent.slice(0, 40);
    if (left < -0.5 || right > width + 0.5) bad.push(name + " from " + left + " to " + right);
    const boxed = e.clientWidth > 0 && !["INPUT", "CANVAS"].includes(e.tagName);
    if (boxed && e.scrollWidth > e.clientWidth + 1) bad.push(name + " hides a part");
    if (e.matches(".key") && e.textContent.includes("…") && !e.closest("a")) bad.push(name + " leads nowhere");
  }
  if (document.scrollingElement.scrollWidth > width) bad.push("the page scrolls sideways");
  return bad;
}

/** zoneless runs in the page: it returns the times without the zone that the browser of the test has. */
function zoneless() {
  const texts = [document.body.innerText, ...[...document.querySelectorAll("[title], [aria-label]")].map((e) => (e.title ?? "") + " " + (e.ariaLabel ?? ""))];
  const zoned = /\d\d:\d\d:\d\d(\.\d+)? GMT\+5:30|GMT\+5:30 \d\d:\d\d:\d\d(\.\d+)?/g;
  return texts.flatMap((text) => text.replaceAll(zoned, "").match(/.*(\d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT).*/g) ?? []);
}

/**
 * axes checks the texts of the charts' axes, which are in no element: times have a zone, nothing is cut, and latencies
 * over many decades are numbers.
 */
export async function axes() {
  const tab = await open();
  await tab.addInitScript(stream);
  await tab.addInitScript(() => {
    window.drawn = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, x, ...more) {
      const size = this.measureText(text).width;
      const left = x - { center: 0.5, right: 1, end: 1 }[this.textAlign] * size;
      if (text && window.drawn.length < 10_000) window.drawn.push({ text, cut: left < 0 || left + size > this.canvas.width });
      return draw.call(this, text, x, ...more);
    };
  });
  await tab.goto(here);
  await signIn(tab, env.ADMIN);
  await tab.waitForFunction(() => window.ready());
  for (const width of [1360, 390]) {
    await tab.setViewportSize({ width, height: 900 });
    const drawn = await tab.evaluate(async () => {
      window.drawn.length = 0;
      for (let n = 0; n < 300; n++) {
        window.second(n, { p50_us: 2 + (n % 9), p99_us: 3e6 });
        if (n % 7 === 0) await new Promise((drawn) => setTimeout(drawn, 20));
      }
      return window.drawn;
    });
    const times = drawn.filter(({ text }) => /\d\d:\d\d/.test(text));
    assert.ok(times.length > 100, times.length + " times on axes");
    for (const { text } of times) assert.match(text, /^\d\d:\d\d:\d\d GMT\+5:30$/);
    for (const latency of ["1 µs", "100 µs", "1 s"]) assert.ok(drawn.some(({ text }) => text === latency), "no " + latency);
    assert.deepEqual(drawn.filter(({ text, cut }) => cut || /null|NaN/.test(text)).slice(0, 5), [], "at " + width);
  }
  await tab.close();
}

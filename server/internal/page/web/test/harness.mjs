// The browser, and the words of the test: steps, tabs, rows, and requests to the Go test lab/browser, which
// starts the servers and answers the lines that begin with ">".
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

export const env = process.env;
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** ask lets the Go test do something, and returns its answer. */
export async function ask(what) {
  console.log(">" + what);
  const { value } = await lines.next();
  assert.ok(value !== undefined && !value.startsWith("error"), what + ": " + value);
  return value;
}

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
export const browser = await chromium.launchPersistentContext(env.PROFILE, {
  executablePath: env.CHROMIUM,
  args: flags,
  viewport: { width: 1360, height: 900 },
  locale: "en-GB",
  timezoneId: "Asia/Kolkata",
});
browser.setDefaultTimeout(10_000);

export const faults = [];

/** open opens a tab. Whatever a script or the content policy reports in it is a fault. */
export async function open(address) {
  const tab = await browser.newPage();
  tab.on("pageerror", (e) => faults.push(e.message));
  tab.on("dialog", (d) => (faults.push("dialog: " + d.message()), d.dismiss()));
  tab.on("console", (m) => {
    const network = m.text().startsWith("Failed to load resource") || m.text().includes("ERR_");
    if (m.type() === "error" && !network) faults.push(m.text());
  });
  if (address) await tab.goto(address);
  return tab;
}

export async function step(name, run) {
  const began = performance.now();
  await run();
  assert.deepEqual(faults, [], name);
  console.log("#" + name + ": " + Math.round(performance.now() - began) + " ms");
}

export async function picture(tab, name) {
  if (env.SCREENSHOTS) await tab.screenshot({ path: env.SCREENSHOTS + "/" + name + ".png" });
}

export async function signIn(tab, token) {
  await tab.getByLabel("Token").fill(token);
  await tab.keyboard.press("Enter");
  await tab.getByRole("heading", { name: "Overview" }).waitFor();
}

export const row = (tab, table, text) => tab.getByRole("region", { name: table }).getByRole("row").filter({ hasText: text }).first();
export const status = (tab, text) => tab.getByRole("status").filter({ hasText: text }).first();
export const here = env.GUARDED + "/";

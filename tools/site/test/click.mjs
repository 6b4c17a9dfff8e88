// The site in a real browser: run by the Go test lab/site, which builds and serves it. Environment: CHROMIUM,
// PROFILE, and SITE, the address of the folder of all versions.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const { CHROMIUM, PROFILE, SITE } = process.env;
const browser = await chromium.launchPersistentContext(PROFILE, {
  executablePath: CHROMIUM,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  colorScheme: "light",
});
browser.setDefaultTimeout(10_000);

const faults = [];
const tab = await browser.newPage();
tab.on("pageerror", (e) => faults.push(e.message));
tab.on("console", (m) => m.type() === "error" && faults.push(m.text()));
browser.on("request", (r) => /^(data|blob):/.test(r.url()) || r.url().startsWith(SITE) || faults.push("request to " + r.url()));
browser.on("response", (r) => r.status() >= 400 && faults.push(r.status() + " " + r.url()));

async function step(name, run) {
  const began = performance.now();
  await run();
  assert.deepEqual(faults, [], name);
  console.log(name + ": " + Math.round(performance.now() - began) + " ms");
}

const dark = () => tab.evaluate(() => document.documentElement.classList.contains("dark"));
const background = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);

await step("the start page leads to the newest version, and its menu to the others", async () => {
  await tab.setViewportSize({ width: 1280, height: 900 });
  await tab.goto(SITE);
  await tab.waitForURL(SITE + "v0.9.0/");
  const menu = tab.getByLabel("Version");
  await menu.locator("option", { hasText: "v0.9.0" }).waitFor({ state: "attached" });
  await menu.selectOption("main");
  await tab.waitForURL(SITE + "main/");
  assert.match(await menu.locator("option:checked").innerText(), /^main [0-9a-f]{7}/);
});

await step("search", async () => {
  await tab.getByRole("button", { name: "Search" }).click();
  await tab.getByRole("searchbox").fill("wrong password");
  await tab.locator(".results .result").first().waitFor();
  await tab.keyboard.press("Enter");
  await tab.waitForURL(/\/main\/sign-ins\.html/);
  await tab.getByRole("heading", { level: 1, name: "Sign-ins" }).waitFor();
});

await step("dark mode, also after a reload", async () => {
  const light = await background();
  await tab.locator(".VPNavBarAppearance button").click();
  assert.ok(await dark());
  assert.notEqual(await background(), light);
  await tab.reload();
  assert.ok(await dark());
});

/** visit clicks a link of the sidebar, and checks the page. */
async function visit(link, narrow) {
  if (narrow) await tab.getByRole("button", { name: "Menu", exact: true }).click();
  const address = await link.evaluate((a) => a.href);
  await link.click();
  await tab.waitForURL(address);
  await tab.locator(".VPDoc h1").waitFor();
  await tab.waitForFunction((path) => document.querySelector(".VPDoc h1").baseURI.endsWith(path) && document.title.includes("Headgate"), new URL(address).pathname);
  const wide = await tab.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, address + " is wider than the window, by " + wide);
}

for (const width of [1280, 390]) {
  await step("each page, from the sidebar, at " + width + " px", async () => {
    await tab.setViewportSize({ width, height: 900 });
    const narrow = width < 960;
    await tab.goto(SITE + "main/");
    await tab.addStyleTag({ content: "* { transition: none !important }" }); // the menu of a narrow page slides for a second
    const links = tab.locator(".VPSidebar a.link");
    const count = await links.count();
    assert.ok(count > 50, count + " pages");
    if (narrow) await tab.getByRole("button", { name: "Menu", exact: true }).click();
    const closed = tab.locator(".VPSidebarItem.level-0.collapsed [role=button]");
    while (await closed.count()) await closed.first().click();
    if (narrow) await tab.keyboard.press("Escape");
    for (let i = 0; i < count; i++) await visit(links.nth(i), narrow);
    console.log(count + " pages");
  });
}

await browser.close();

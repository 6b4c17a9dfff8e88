// An incident, from the flood to its end, by the keyboard alone: no step uses the mouse, and the focus always shows.
import assert from "node:assert/strict";
import { ask, here, row, status } from "./harness.mjs";

/** focused runs in the page: it returns the name of the element with the focus, and whether it can be seen. */
function focused() {
  const e = document.activeElement;
  const label = e.labels?.[0]?.textContent ?? e.ariaLabel ?? e.textContent;
  const { left, right, top, bottom } = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return { name: label.trim(), seen: e === document.body || (outlined && right > 0 && bottom > 0 && left < innerWidth && top < innerHeight) };
}

/** reach presses Tab until an element has the focus, and checks that each focus shows. */
async function reach(tab, name) {
  for (let i = 0; i < 150; i++) {
    await tab.keyboard.press("Tab");
    const now = await tab.evaluate(focused);
    assert.ok(now.seen, "the focus on " + now.name + " does not show");
    if (name.test(now.name)) return;
  }
  assert.fail("no Tab reaches " + name);
}

async function press(tab, name) {
  await reach(tab, name);
  await tab.keyboard.press("Enter");
}

export async function incident(tab) {
  const heading = (name) => tab.waitForFunction((name) => document.activeElement.tagName === "H1" && document.activeElement.textContent.trim() === name, name);
  await tab.goto(here + "#/policies");
  await ask("noise plan wave");
  await heading("Policies");
  await press(tab, /^Overview$/);
  await heading("Overview");
  await row(tab, "Keys with the most denials", "wave").waitFor();
  await press(tab, /^wave$/);
  await heading("Key wave");
  await row(tab, "plan", "40/s").waitFor();
  await press(tab, /^Limit…$/);
  const dialog = tab.getByRole("dialog");
  await dialog.getByText("The key would have: deny").waitFor();
  await reach(tab, /^For$/);
  await tab.keyboard.type("10 m");
  assert.equal(await dialog.getByLabel("For").inputValue(), "10m");
  await reach(tab, /^Your name$/);
  await tab.keyboard.press("ControlOrMeta+A");
  await tab.keyboard.type("ann");
  await press(tab, /^Limit it$/);
  await status(tab, "wave is limited under plan").waitFor();
  await tab.getByText(/override of wave · changed by ann \(user operate\) · ends/).waitFor();
  let passed = 1;
  for (let i = 0; i < 5 && passed > 0; i++) passed = Number(await ask("allowed wave"));
  assert.equal(passed, 0);
  await press(tab, /^Clear the change to wave…$/);
  await dialog.getByText("deny → 40/s").waitFor();
  await press(tab, /^Clear the change$/);
  await status(tab, "The change is cleared").waitFor();
  await tab.waitForFunction(() => document.activeElement.tagName === "H1"); // the button is gone, and the focus is not
  await row(tab, "plan", "40/s").waitFor();
  for (let i = 0; i < 5 && passed === 0; i++) passed = Number(await ask("allowed wave"));
  assert.ok(passed > 0);
  await ask("noise");
}

/** still checks that rows do not move while the keyboard is in them: they would take the focus away. */
export async function still(tab) {
  await tab.goto(here);
  await row(tab, "Keys with the most requests", "steady").waitFor();
  await reach(tab, /^steady$/);
  await tab.getByText("The rows do not move").first().waitFor();
  const rows = () => tab.getByRole("region", { name: "Keys with the most requests" }).locator("td").allTextContents();
  const before = await rows();
  await ask("send api somebody");
  await tab.waitForTimeout(2500);
  assert.deepEqual(await rows(), before);
  assert.equal((await tab.evaluate(focused)).name, "steady");
  await tab.evaluate(() => document.activeElement.blur());
  await tab.getByText("The rows do not move").waitFor({ state: "detached" });
}

// A flood of one descriptor of Envoy's, from its discovery to its end, on the page.
import assert from "node:assert/strict";
import { env, open, row, status } from "./harness.mjs";

/** limited sends a request for a user's descriptor, and returns whether Envoy would deny it. */
async function limited(user) {
  const body = { domain: "shop", descriptors: [{ entries: [{ key: "user", value: user }] }] };
  const answer = await fetch(env.ENVOY_JSON, { method: "POST", body: JSON.stringify(body) });
  return (await answer.json()).overallCode === "OVER_LIMIT";
}

export async function descriptorFloods() {
  for (let i = 0; i < 60; i++) await limited("7");
  assert.ok(await limited("7"));
  assert.ok(!(await limited("8")));
  const tab = await open(env.ENVOY + "/");
  await row(tab, "Keys with the most denials", "user=7").getByRole("link", { name: "user=7" }).click();
  await tab.getByRole("heading", { name: "Key user=7" }).waitFor();
  await row(tab, "envoy.shop.user", "50/1h").getByText("0 of 50").waitFor();
  const limit = async (kind) => {
    await tab.getByRole("button", { name: "Limit…" }).click();
    const dialog = tab.getByRole("dialog");
    await dialog.getByLabel("The key gets").selectOption(kind);
    await dialog.getByLabel("For").selectOption({ label: "10 minutes" });
    await dialog.getByLabel("Your name").fill("ann");
    await dialog.getByLabel("Reason").fill("a flood");
    await dialog.getByRole("button", { name: "Limit it" }).click();
    await status(tab, "user=7 is limited under envoy.shop.user").waitFor();
    await tab.getByText(/override of user=7 · changed by ann · ends/).waitFor();
  };
  await limit("unlimited");
  assert.ok(!(await limited("7")));
  await limit("deny");
  assert.ok(await limited("7"));
  assert.ok(!(await limited("8")));
  await tab.getByRole("button", { name: "Clear the change to user=7…" }).click();
  await tab.getByRole("dialog").getByRole("button", { name: "Clear the change" }).click();
  await status(tab, "The change is cleared").waitFor();
  await row(tab, "envoy.shop.user", "50/1h").getByText("0 of 50").waitFor(); // its counter goes on
  assert.ok(await limited("7"));
  await tab.close();
}

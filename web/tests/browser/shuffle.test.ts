// The same events in random order, with duplicates and a killed function: both orders are equal in the end.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { inBrowser, type Tab } from "./browser";
import { System } from "./system";

/** One shuffle is checked in detail. */
const SHUFFLES = 10;
/** In seconds, on a slow machine. */
const LONGEST = 60;

let system: System;
before(async () => {
  system = await System.start({ visibilityTimeout: 2 });
});
after(() => system.end());
const test = inBrowser();

async function areEqual(tab: Tab): Promise<void> {
  const result = tab.page.getByTestId("shuffle-result").filter({ hasNotText: "Not equal yet" });
  await result.waitFor({ timeout: LONGEST * 1000 });
  assert.match((await result.textContent()) ?? "", /Both orders are equal/);
  const digests = await tab.page.getByTestId("lane-digest").allTextContents();
  assert.equal(digests.length, 2);
  assert.ok(digests[0], "the digest of an order that is there");
  assert.equal(digests[0], digests[1]);
}

test("a shuffle shows how both orders become equal", async tab => {
  await tab.goto(`${system.url}/console/`);
  await tab.region("Shuffle").getByRole("button", { name: "Shuffle", exact: true }).click();
  await tab.sees(/in flight/);
  await tab.state("shuffle-running");
  await areEqual(tab);
  await tab.sees("The function was killed");
  await tab.sees("duplicate");
  await tab.mainState("shuffle");
  // The address contains its id.
  await tab.page.reload();
  await areEqual(tab);

  const repeat = tab.button(/^Repeat seed/);
  const seed = await repeat.textContent();
  await repeat.press("Enter");
  await tab.page.getByTestId("shuffle-result").filter({ hasText: "Not equal yet" }).waitFor();
  // The pressed button still exists and has the focus.
  const pressed = tab.page.getByRole("button", { name: seed ?? "", exact: true, disabled: true });
  await pressed.and(tab.page.locator(":focus")).waitFor();
  await areEqual(tab);
  assert.equal(await repeat.textContent(), seed);
});

test(
  `${SHUFFLES} random shuffles end with equal orders`,
  async tab => {
    const seeds = new Set<string>();
    await tab.goto(`${system.url}/console/`);
    for (let shuffle = 1; shuffle < SHUFFLES; shuffle++) {
      await tab.region("Shuffle").getByRole("button", { name: "Shuffle", exact: true }).click();
      await tab.page.getByTestId("shuffle-result").filter({ hasText: "Not equal yet" }).waitFor();
      await areEqual(tab);
      seeds.add((await tab.button(/^Repeat seed/).textContent()) ?? "");
    }
    assert.equal(seeds.size, SHUFFLES - 1, "each has a seed of its own");
  },
  { seconds: SHUFFLES * LONGEST },
);

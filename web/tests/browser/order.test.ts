// One order: everything that is shown, and changes while the page is open.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { inBrowser, type Tab } from "./browser";
import { newConsumer, Order } from "./events";
import { System } from "./system";

let system: System;
before(async () => {
  system = await System.start();
});
after(() => system.end());
const test = inBrowser();

test("an order shows its items, the status of every service, and its timeline", async tab => {
  const order = new Order({
    consumerId: newConsumer(),
    items: [
      { name: "Chicken Vindaloo", price: "12.34", quantity: 2 },
      { name: "Crème brûlée", price: "6.50", quantity: 1 },
    ],
  });
  const story = order.story();
  await system.publish(story);
  await system.order(
    order.id,
    shown => (shown as unknown as { delivery?: { location?: unknown } }).delivery?.location !== undefined,
  );
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await tab.page.getByRole("heading", { name: `Order ${order.id}` }).waitFor();
  for (const text of ["Chicken Vindaloo", "Crème brûlée", "$43.52", "9 Amazing View", "Picked up", "On the way"]) {
    await tab.sees(text);
  }
  const timeline = tab.region("Timeline");
  await timeline.waitFor();
  await tab.mainState("order");
});

test("an order changes while the page is open, and only the changed parts are drawn again", async tab => {
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await tab.sees("Waiting for approval");
  await tab.page.evaluate(() => {
    const watched = window as unknown as { removed: string[] };
    watched.removed = [];
    new MutationObserver(changes => {
      for (const { removedNodes } of changes)
        for (const node of removedNodes) watched.removed.push((node as Element).outerHTML ?? node.textContent);
    }).observe(document.querySelector("main") as Element, { childList: true, subtree: true });
  });
  const heading = tab.page.getByRole("heading", { name: `Order ${order.id}` });
  const item = tab.page.getByText("Chicken Vindaloo").first();
  for (const part of [heading, item]) await part.evaluate(element => element.setAttribute("data-marked", "yes"));
  await item.evaluate(element => getSelection()?.selectAllChildren(element));

  order.now();
  const steps: [ReturnType<Order["event"]>, string | RegExp][] = [
    [order.event("OrderAuthorized"), "Approved"],
    [order.event("TicketCreated"), "Waiting for the kitchen"],
    [order.event("TicketAccepted", { readyBy: new Date(Date.now() + 1_200_000).toISOString() }), "Accepted"],
    [order.event("TicketPreparationStarted"), "Cooking"],
  ];
  for (const [message, text] of steps) {
    await system.publish([message]);
    await tab.sees(text);
  }
  // It is announced for screen readers.
  const announcement = tab.page.getByTestId("announcements").filter({ hasText: "Cooking started" });
  await announcement.waitFor({ state: "attached" });
  for (const part of [heading, item]) {
    assert.equal(await part.getAttribute("data-marked"), "yes", "what did not change is the same element");
  }
  assert.equal(await tab.page.evaluate(() => getSelection()?.toString()), "Chicken Vindaloo", "a selection stays");
  const removed = await tab.page.evaluate(() => (window as unknown as { removed: string[] }).removed.join("\n"));
  assert.ok(!removed.includes("Chicken Vindaloo") && !removed.includes("9 Amazing View"), removed);
  await tab.state("order-in-the-kitchen");
});

test(
  "the map of the courier needs no other service",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    await system.publish(order.story());
    await system.order(order.id, shown => shown.status === "APPROVED");
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.page.getByRole("img", { name: /courier/i }).waitFor();
  },
  { phone: true },
);

test("an unknown status is shown unchanged", async tab => {
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  // The system has no such status, so the test changes the response.
  await tab.page.route(`**/orders/${order.id}`, async route => {
    const response = await route.fetch();
    const body = (await response.text()).replace("APPROVAL_PENDING", "ON_THE_MOON");
    const later = body.replace(/"type":"OrderCreated"/, '"type":"OrderTeleported"');
    await route.fulfill({ response, body: later });
  });
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await tab.sees(/on.the.moon/i);
  await tab.state("order-of-a-newer-version");
});

test(
  "a request that takes too long is aborted, reported and retried",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    await system.publish([order.created()]);
    await system.order(order.id);
    await tab.page.clock.install();
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.sees("Waiting for approval");
    const held = await tab.hold(url => url.pathname.endsWith(`/orders/${order.id}`));
    await tab.page.clock.fastForward(3_000);
    await held.arrived();
    await tab.page.clock.fastForward(36_000);
    await tab.sees("The service does not answer");
    await tab.announced(/^The service does not answer/).waitFor({ state: "attached" });
    await held.release();
    await system.publish([order.now().event("OrderAuthorized")]);
    await system.order(order.id, shown => shown.status === "APPROVED");
    await tab.page.clock.fastForward(5_000);
    await tab.sees("Approved");
    await tab.page.locator("main").getByText("The service does not answer").waitFor({ state: "detached" });
  },
  { lostResponses: true },
);

test(
  "in a browser with another language, sentences are English, and money and times use the reader's format",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    await system.publish(order.story());
    await system.order(order.id, shown => shown.status === "APPROVED");
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.region("Timeline").waitFor();
    await tab.sees(/placed 3\d minutes ago/);
    await tab.sees("3 min", tab.region("Timeline"));
    await tab.sees("37,02\u00a0$");
    const text =
      (await tab.page.locator("main").textContent()) + (await tab.page.getByRole("img").first().ariaSnapshot());
    assert.doesNotMatch(text, /\bvor \d|\bMin\.|Minute[^s]|gestern/);
  },
  { locale: "de-DE" },
);

/** The page with sign-in, at an issuer that this test does not need. */
async function withSignIn(tab: Tab, expiresAt: number): Promise<void> {
  const config = { authorization: "oidc", currency: "USD", issuer: "https://issuer.invalid", clientId: "page" };
  await tab.page.route("**/config.json", route => route.fulfill({ json: { ...config, scope: "openid" } }));
  await tab.page.addInitScript(
    grant => {
      if (!sessionStorage.getItem("tested")) sessionStorage.setItem("ftgo.session", grant);
      sessionStorage.setItem("tested", "yes");
    },
    JSON.stringify({ accessToken: "t", scope: "openid", name: "Ada", lifetime: 600, expiresAt }),
  );
}

test("an order that is opened with an expired session says so", async tab => {
  await withSignIn(tab, Date.now() - 1_000);
  await tab.goto(`${system.url}/#/orders/99`);
  await tab.sees("Your session has ended");
  await tab.button("Sign in again").waitFor();
  await tab.state("order-session-ended");
});

test("a link that looks like a response of the issuer does not sign out the user", async tab => {
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  await withSignIn(tab, Date.now() + 600_000);
  await tab.goto(`${system.url}/?state=x&error=y#/orders/${order.id}`);
  await tab.sees("Chicken Vindaloo");
  await tab.button("Sign out").waitFor();
  assert.equal(new URL(tab.page.url()).search, "");
});

test(
  "on a phone, a status is not broken within a word",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    const soon = new Date(Date.now() + 20 * 60_000).toISOString();
    await system.publish([
      order.created(),
      order.event("OrderAuthorized"),
      order.event("DeliveryScheduled", { courierId: "7", estimatedPickupTime: soon, estimatedDeliveryTime: soon }),
    ]);
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    const status = tab.page.getByRole("list", { name: "Status" }).getByText("Scheduled", { exact: true });
    await status.waitFor();
    for (const width of [390, 360, 320]) {
      await tab.page.setViewportSize({ width, height: 844 });
      const lines = await status.evaluate(element => {
        const range = document.createRange();
        range.selectNodeContents(element);
        return new Set([...range.getClientRects()].map(({ top }) => top)).size;
      });
      assert.equal(lines, 1, `at ${width} px`);
    }
  },
  { phone: true },
);

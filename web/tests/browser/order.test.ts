// One order: all that is known of it, and what changes while one looks.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { inBrowser } from "./browser";
import { newConsumer, Order } from "./events";
import { System } from "./system";

let system: System;
before(async () => {
  system = await System.start();
});
after(() => system.end());
const test = inBrowser();

test("an order shows what was ordered, where everything stands, and what happened when", async tab => {
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

test("an order changes while one looks, and only what changed is drawn anew", async tab => {
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
  // A screen reader says it.
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
  "a picture of where the courier is needs nobody else's map",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    await system.publish(order.story());
    await system.order(order.id, shown => shown.status === "APPROVED");
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.page.getByRole("img", { name: /courier/i }).waitFor();
  },
  { phone: true },
);

test("a status of a newer version is shown as it is", async tab => {
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  // The system of this version has no such status: its answer is changed on the way.
  await tab.page.route(`**/orders/${order.id}`, async route => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace("APPROVAL_PENDING", "ON_THE_MOON");
    const later = body.replace(/"type":"OrderCreated"/, '"type":"OrderTeleported"');
    await route.fulfill({ response: answer, body: later });
  });
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await tab.sees(/on.the.moon/i);
  await tab.state("order-of-a-newer-version");
});

// Paying: every command is executed once, with any fault of the user, the network or the gateway.
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

async function newOrder(): Promise<Order> {
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  return order;
}

const payment = (tab: Tab) => tab.region("Payment");
const pay = (tab: Tab) => payment(tab).getByRole("button", { name: /^Pay/ });

/** Opens an order and creates a payment for its total or the given amount. */
async function startPayment(tab: Tab, order: Order, amount?: string): Promise<void> {
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await payment(tab).waitFor();
  if (amount)
    await payment(tab)
      .getByLabel(/^Amount/)
      .fill(amount);
  await payment(tab).getByRole("button", { name: "Create payment" }).click();
  await pay(tab).waitFor();
}

async function isPaidOnce(tab: Tab, order: Order, amount: number): Promise<void> {
  await payment(tab).getByText("Paid", { exact: true }).first().waitFor({ timeout: 30_000 });
  const charges = await system.charges(order.id);
  assert.deepEqual(
    charges.map(charge => charge.amount),
    [amount],
  );
}

test("a consumer pays for an order, and sees it at once", async tab => {
  const order = await newOrder();
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await payment(tab).waitFor();
  await tab.mainState("payment-none");
  await startPayment(tab, order);
  await tab.mainState("payment-created");
  await pay(tab).click();
  await isPaidOnce(tab, order, 2468);
  assert.equal(await pay(tab).count(), 0);
  await tab.mainState("payment-paid");
  await tab.page.reload();
  await isPaidOnce(tab, order, 2468);
});

test("paying works without a mouse, and the focus is never lost", async tab => {
  const order = await newOrder();
  await tab.goto(`${system.url}/#/orders/${order.id}`);
  await payment(tab).waitFor();
  const isLost = () => tab.page.evaluate(() => document.activeElement === document.body);
  await tab.tabTo(payment(tab).getByLabel(/^Amount/));
  await tab.page.keyboard.press("Control+A");
  await tab.page.keyboard.type("10.50");
  await tab.page.keyboard.press("Enter");
  await pay(tab).waitFor();
  assert.ok(!(await isLost()), "the focus after the payment was created");
  await tab.tabTo(pay(tab));
  await tab.page.keyboard.press("Enter");
  await isPaidOnce(tab, order, 1050);
  assert.ok(!(await isLost()), "the focus after the payment");
});

test("a declined card is shown, and another payment can follow", async tab => {
  const order = await newOrder();
  await startPayment(tab, order, "10.02");
  await pay(tab).click();
  await tab.sees(/declined/i, payment(tab));
  await tab.mainState("payment-declined");
  assert.deepEqual(await system.charges(order.id), []);
  await startPayment(tab, order, "10.00");
  await pay(tab).click();
  await isPaidOnce(tab, order, 1000);
});

for (const [fault, amount] of [
  ["a lost response", 703],
  ["a failure", 705],
  ["a late response", 709],
] as const) {
  test(`${fault} of the gateway ends in one charge`, async tab => {
    const order = await newOrder();
    await startPayment(tab, order, (amount / 100).toFixed(2));
    await pay(tab).click();
    await isPaidOnce(tab, order, amount);
  });
}

test("a payment in progress is shown until its result arrives", async tab => {
  const order = await newOrder();
  await startPayment(tab, order);
  const held = await tab.hold(url => url.pathname.endsWith(`/orders/${order.id}`));
  await pay(tab).click();
  await tab.sees(/in progress/i, payment(tab));
  await tab.mainState("payment-in-progress");
  await held.release();
  await isPaidOnce(tab, order, 2468);
});

test("an order that was cancelled after the payment was created cannot be paid", async tab => {
  const order = await newOrder();
  await startPayment(tab, order);
  await system.publish([order.now().event("OrderAuthorized"), order.event("OrderCancelled")]);
  await tab.sees(/nothing to pay/i, payment(tab));
  assert.equal(await payment(tab).getByRole("button").count(), 0);
  await tab.seesNot("$24.68", payment(tab));
  // The page finds the payment again, but does not offer it.
  const intent = tab.page.waitForResponse(/\/payment-intents\/[^/]+$/);
  await tab.page.reload();
  await (await intent).finished();
  await tab.sees(/nothing to pay/i, payment(tab));
  assert.equal(await payment(tab).getByRole("button").count(), 0);
  await tab.state("payment-cancelled-order");
});

test("the amount can change until it is charged", async tab => {
  const order = await newOrder();
  await startPayment(tab, order);
  await changeAmount(tab, "12.50");
  await tab.sees("$12.50", payment(tab));
  // A repeated announcement is read out again.
  for (const count of [1, 2]) {
    await changeAmount(tab, "12.50");
    await tab
      .announced("The amount is the same.")
      .nth(count - 1)
      .waitFor({ state: "attached" });
  }
  await pay(tab).click();
  await isPaidOnce(tab, order, 1250);
  assert.equal(await payment(tab).getByRole("button", { name: "Change amount" }).count(), 0);
});

test(
  "an invalid amount is rejected, with the correction",
  async tab => {
    const order = await newOrder();
    await startPayment(tab, order);
    await changeAmount(tab, "-3");
    await tab.sees(/amount/i, payment(tab).getByRole("alert"));
    await tab.state("payment-wrong-amount");
    await changeAmount(tab, "3.00");
    await tab.sees("$3.00", payment(tab));
  },
  { failures: [400] },
);

test(
  "a change of the amount is rejected while the charge is in progress",
  async tab => {
    const order = await newOrder();
    // The gateway takes eight seconds for this amount.
    await startPayment(tab, order, "7.09");
    const another = await tab.another();
    await another.goto(`${system.url}/#/orders/${order.id}`);
    await pay(another).waitFor();
    // The first tab does not see the second tab's change before it sends its own command.
    await tab.page.route(`**/orders/${order.id}`, route => route.abort());
    await pay(another).click();
    await another.sees(/in progress/i, payment(another));
    await changeAmount(tab, "8.00");
    await tab.sees(/can no longer change|changed in another window/i, payment(tab));
    await tab.sees(/in progress/i, payment(tab));
    assert.equal(await payment(tab).getByRole("button", { name: "Change amount" }).count(), 0);
    await tab.state("payment-change-refused");
    await isPaidOnce(another, order, 709);
    await another.close();
  },
  { failures: [409, 412], lostResponses: true },
);

test("a double click pays once", async tab => {
  const order = await newOrder();
  await startPayment(tab, order);
  const sent: string[] = [];
  tab.page.on("request", request => {
    if (request.url().endsWith("/charge")) sent.push(request.headers()["idempotency-key"] ?? "");
  });
  await pay(tab).dblclick({ force: true });
  await isPaidOnce(tab, order, 2468);
  assert.equal(new Set(sent).size, 1, "one key, however many requests");
});

test(
  "two tabs that pay at the same time pay once",
  async tab => {
    const order = await newOrder();
    await startPayment(tab, order);
    const another = await tab.another();
    await another.goto(`${system.url}/#/orders/${order.id}`);
    await pay(another).waitFor();
    await Promise.all([pay(tab).click(), pay(another).click()]);
    await isPaidOnce(tab, order, 2468);
    await isPaidOnce(another, order, 2468);
    await another.close();
  },
  { failures: [409, 412] },
);

test(
  "a lost response, a reload and another click pay once",
  async tab => {
    const order = await newOrder();
    await startPayment(tab, order);
    // The page gets the old order and payment until it has sent its second request, as with a slow view.
    const keys: string[] = [];
    const before = new Map<string, string>();
    await tab.page.route(/\/(orders|payment-intents)\/[^/]+$/, async route => {
      const url = route.request().url();
      if (keys.length > 1) return route.continue();
      const known = before.get(url) ?? (await (await route.fetch()).text());
      before.set(url, known);
      return route.fulfill({ contentType: "application/json", body: known });
    });
    await tab.page.reload();
    await pay(tab).waitFor();
    assert.equal(before.size, 2, "the order and its payment intent");
    // The server gets the request, but the page does not get the response.
    await tab.page.route("**/charge", async route => {
      keys.push(route.request().headers()["idempotency-key"] ?? "");
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort("connectionreset");
    });
    await pay(tab).click();
    await tab.sees(/did not answer/i);
    await tab.state("payment-response-lost");
    await tab.page.reload();
    await pay(tab).click();
    await isPaidOnce(tab, order, 2468);
    assert.equal(keys.length, 2);
    assert.equal(keys[0], keys[1], "the same intention has the same key");
  },
  { lostResponses: true },
);

test(
  "paying is not offered without a payment service",
  async tab => {
    const order = await newOrder();
    // API Gateway's response for an unknown route.
    await tab.page.route(/\/payment/, route =>
      route.fulfill({ status: 404, contentType: "application/json", body: '{"message":"Not Found"}' }),
    );
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.sees(/not available/i, payment(tab));
    assert.equal(await payment(tab).getByRole("button").count(), 0);
    await tab.state("payment-not-available");
  },
  { failures: [404] },
);

async function changeAmount(tab: Tab, amount: string): Promise<void> {
  const change = payment(tab).getByRole("button", { name: "Change amount" });
  const field = payment(tab)
    .getByLabel(/amount/i)
    .and(tab.page.getByRole("textbox"));
  if (!(await field.isVisible())) await change.click();
  await field.fill(amount);
  await tab.page.keyboard.press("Enter");
}

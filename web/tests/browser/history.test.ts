// A consumer's orders: filters, pages, the keyboard, changes while the page is open.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { inBrowser, type Tab } from "./browser";
import { newConsumer, Order } from "./events";
import { System } from "./system";

let system: System;
before(async () => {
  system = await System.start({ demo: true });
});
after(() => system.end());
const test = inBrowser();

const page = (consumerId: string, filter = "") => `${system.url}/#/?consumer=${consumerId}${filter}`;
const orderCards = (tab: Tab) => tab.page.getByRole("article", { name: /^Order / });
const orderCard = (tab: Tab, order: Order) => tab.page.getByRole("article", { name: `Order ${order.id}` });

async function shows(tab: Tab, count: number): Promise<void> {
  await orderCards(tab)
    .nth(count - 1)
    .waitFor();
  assert.equal(await orderCards(tab).count(), count);
}

test("a new user sees the demo's orders, and that no sign-in is needed", async tab => {
  await tab.goto(system.url);
  await tab.page.getByRole("heading", { name: "Orders" }).waitFor();
  await tab.page.getByRole("article", { name: "Order 99" }).waitFor();
  await tab.page.getByRole("article", { name: "Order 100" }).waitFor();
  await tab.sees(/no sign-in|without sign-in|sign-in is off/i);
  assert.equal(await tab.button("Sign in").count(), 0);
  await tab.mainState("history");
});

test("the history has filters for status, words and time", async tab => {
  const consumerId = newConsumer();
  const old = new Order({ consumerId, restaurant: "Ajanta", minutesAgo: 10 * 24 * 60 });
  const rejected = new Order({ consumerId, restaurant: "Zur Goldenen Krone", minutesAgo: 60 });
  const pending = new Order({
    consumerId,
    restaurant: "Ajanta",
    items: [{ name: "Crème brûlée", price: "6.50", quantity: 4 }],
  });
  await system.publish([old.created(), rejected.created(), rejected.event("OrderRejected"), pending.created()]);
  await system.order(rejected.id, order => order.status === "REJECTED");
  await system.orders(consumerId, 3);
  await tab.goto(page(consumerId));
  await shows(tab, 3);

  await tab.field("Status").selectOption({ label: "Rejected" });
  await orderCard(tab, pending).waitFor({ state: "detached" });
  await shows(tab, 1);
  await orderCard(tab, rejected).waitFor();
  await tab.announced("1 order").waitFor({ state: "attached" });
  await tab.state("history-filtered");
  await tab.page.reload();
  await shows(tab, 1);

  await tab.field("Status").selectOption("");
  await shows(tab, 3);
  await tab.field("Words").fill("BRÛLÉE");
  await tab.page.keyboard.press("Enter");
  await orderCard(tab, old).waitFor({ state: "detached" });
  await shows(tab, 1);
  await orderCard(tab, pending).waitFor();

  await tab.field("Words").fill("nothing-like-this");
  await tab.page.keyboard.press("Enter");
  await orderCard(tab, pending).waitFor({ state: "detached" });
  await tab.sees(/no orders/i);
  await tab.announced(/^No orders match/).waitFor({ state: "attached" });
  await tab.state("history-empty");

  await tab.field("Words").fill("");
  await tab.page.keyboard.press("Enter");
  await shows(tab, 3);
  const threeDaysAgo = new Date(Date.now() - 3 * 24 * 3600_000).toISOString().slice(0, 10);
  await tab.field("Since").fill(threeDaysAgo);
  await orderCard(tab, old).waitFor({ state: "detached" });
  await shows(tab, 2);
  // Back shows the previous list.
  await tab.page.goBack();
  await shows(tab, 3);
});

test("a long history is read in pages, each order once", async tab => {
  const consumerId = newConsumer();
  const orders = Array.from({ length: 45 }, (_, index) => new Order({ consumerId, minutesAgo: 10 + index }));
  await system.publish(orders.map(order => order.created()));
  await system.orders(consumerId, orders.length);
  await tab.goto(page(consumerId));
  await shows(tab, 20);
  await tab.mainState("history-of-many");
  await tab.button("More orders").click();
  await shows(tab, 40);
  await tab.button("More orders").click();
  await shows(tab, 45);
  await tab.button("More orders").waitFor({ state: "detached" });
  const names = await orderCards(tab).evaluateAll(cards => cards.map(card => card.textContent ?? ""));
  for (const [index, order] of orders.entries()) {
    assert.ok(names[index]?.includes(order.id), `order ${index} is ${order.id}, newest first`);
  }

  // A new order appears at the top automatically, and the others stay the same elements: nothing flickers.
  const last = orderCard(tab, orders[44] as Order);
  await last.evaluate(card => card.setAttribute("data-marked", "yes"));
  const fresh = new Order({ consumerId }).now();
  await system.publish([fresh.created()]);
  await orderCard(tab, fresh).waitFor();
  await shows(tab, 46);
  assert.equal(await last.getAttribute("data-marked"), "yes");
});

test("more orders are read once, also during a refresh in the background", async tab => {
  const consumerId = newConsumer();
  const orders = Array.from({ length: 45 }, (_, index) => new Order({ consumerId, minutesAgo: 10 + index }));
  await system.publish(orders.map(order => order.created()));
  await system.orders(consumerId, orders.length);
  await tab.goto(page(consumerId));
  await shows(tab, 20);

  const refresh = await tab.hold(url => url.pathname.endsWith("/orders") && !url.searchParams.has("startKey"));
  const more = await tab.hold(url => url.searchParams.has("startKey"));
  await tab.page.evaluate(() => window.dispatchEvent(new Event("online")));
  await refresh.arrived();
  await tab.button("More orders").click();
  await tab.button("Reading…").waitFor();
  await refresh.release();
  // The request is sent after the refresh, which is finished now.
  await more.arrived();
  assert.equal(await tab.button("Reading…").getAttribute("aria-disabled"), "true");
  await tab.button("Reading…").click({ force: true });
  await more.release();
  await tab.announced("20 more orders").waitFor({ state: "attached" });
  await shows(tab, 40);
  assert.equal(more.count, 1);
});

test("words that are being typed stay in the field, and never open another consumer's list", async tab => {
  const [first, second] = [newConsumer(), newConsumer()];
  const naan = new Order({ consumerId: first, restaurant: "Garlic Naan House" });
  const other = new Order({ consumerId: first, restaurant: "Ajanta" });
  const ofSecond = new Order({ consumerId: second, restaurant: "Chez Panisse" });
  await system.publish([naan.created(), other.created(), ofSecond.created()]);
  await system.orders(first, 2);
  await system.orders(second, 1);
  await tab.page.clock.install();
  await tab.goto(page(first));
  await shows(tab, 2);

  // A space at the end is kept during a pause in the typing: another word follows.
  const words = tab.field("Words");
  await words.pressSequentially("garlic ");
  await tab.page.waitForURL(/words=garlic$/);
  await orderCard(tab, other).waitFor({ state: "detached" });
  assert.equal(await words.inputValue(), "garlic ");
  await words.pressSequentially("naan");
  await tab.page.waitForURL(/words=garlic\+naan$/);
  await shows(tab, 1);

  // The list changes to another consumer before the pause in the typing ends.
  await tab.page.clock.pauseAt(Date.now() + 60_000);
  await words.fill("ajanta");
  await tab.field("Consumer").fill(second);
  await tab.page.keyboard.press("Enter");
  await tab.sees(second);
  await tab.page.clock.runFor(1_000);
  assert.ok(tab.page.url().includes(`consumer=${second}`), tab.page.url());
  assert.equal(await words.inputValue(), "garlic naan");
  await tab.page.clock.resume();
  await tab.sees("No orders match");
});

test("everything works without a mouse", async tab => {
  const consumerId = newConsumer();
  const [approved, pending] = [new Order({ consumerId }), new Order({ consumerId, minutesAgo: 9 })];
  await system.publish([approved.created(), approved.event("OrderAuthorized"), pending.created()]);
  await system.order(approved.id, order => order.status === "APPROVED");
  await system.orders(consumerId, 2);
  await tab.goto(page(consumerId));
  await shows(tab, 2);

  // The first Tab stop is the link that skips the header.
  await tab.page.keyboard.press("Tab");
  await tab.sees(/skip to/i);

  await tab.tabTo(tab.field("Status"));
  await tab.page.keyboard.type("Approved");
  await orderCard(tab, pending).waitFor({ state: "detached" });
  await tab.tabTo(orderCard(tab, approved).getByRole("link"));
  await tab.page.keyboard.press("Enter");
  await tab.page.getByRole("heading", { name: `Order ${approved.id}` }).waitFor();
  // The focus moves to the new content, where a screen reader continues.
  const focused = await tab.page.evaluate(() => document.activeElement?.closest("main, h1") !== null);
  assert.ok(focused, "the focus is in the order");
  await tab.tabTo(tab.link(/orders/i).first());
  await tab.page.keyboard.press("Enter");
  await shows(tab, 1);
});

test("texts from events are shown as plain text", async tab => {
  const consumerId = newConsumer();
  const hostile = new Order({
    consumerId,
    restaurant: `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`,
    items: [
      { name: `"><svg onload=document.title='owned'>`, price: "1.00", quantity: 1 },
      { name: "\u202egnihsif \u2066 javascript:alert(1) {{7*7}}", price: "2.00", quantity: 2 },
      { name: "W".repeat(200), price: "9999999.99", quantity: 999 },
    ],
  });
  await system.publish([hostile.created()]);
  await system.orders(consumerId, 1);
  for (const address of [page(consumerId), `${system.url}/#/orders/${hostile.id}`]) {
    await tab.goto(address);
    await tab.sees("<img src=x");
    assert.notEqual(await tab.page.title(), "owned");
    assert.equal(await tab.page.locator("img, main script, svg[onload]").count(), 0);
    await tab.page.setViewportSize({ width: 390, height: 844 });
    await tab.state(address.includes("orders/") ? "hostile-order" : "hostile-history");
    await tab.page.setViewportSize({ width: 1280, height: 900 });
  }
});

test("a name that changes the direction of writing does not change other text", async tab => {
  const consumerId = newConsumer();
  const turning = new Order({ consumerId, restaurant: "\u202eAjanta \u2066" });
  await system.publish([turning.created()]);
  await system.order(turning.id);
  await tab.goto(`${system.url}/#/orders/${turning.id}`);
  const isLeftToRight = await tab.page.locator(".lead .quiet").evaluate(lead => {
    const text = document.createTreeWalker(lead, NodeFilter.SHOW_TEXT).nextNode() as Text;
    const left = (index: number) => {
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + 1);
      return range.getBoundingClientRect().left;
    };
    return text.data.startsWith("placed") && left(0) < left(5);
  });
  assert.ok(isLeftToRight, "what follows the name is read from left to right");
});

test(
  "unknown addresses show that the page was not found",
  async tab => {
    await tab.goto(`${system.url}/#/orders/no-such-order`);
    await tab.sees(/no such order/i);
    await tab.state("order-unknown");
    await tab.goto(`${system.url}/#/nowhere`);
    await tab.page.getByRole("heading", { name: "Page not found" }).waitFor();
    await tab.link("See all orders").waitFor();
    await tab.state("nowhere");
    await tab.goto(page(newConsumer()));
    await tab.sees(/no orders/i);
    await tab.goto(page("with%20spaces"));
    await tab.sees(/check what you entered/i);
  },
  { failures: [400, 404] },
);

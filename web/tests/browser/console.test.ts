// The console of `make run`: what it shows, and its buttons.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { inBrowser, type Tab } from "./browser";
import { newConsumer, Order } from "./events";
import { eventually } from "./eventually";
import { System } from "./system";

let system: System;
before(async () => {
  // A message that fails is in the dead-letter queue after five seconds.
  system = await System.start({ demo: true, visibilityTimeout: 1 });
});
after(() => system.end());
const test = inBrowser();

const row = (tab: Tab, region: string, name: string) =>
  tab
    .region(region)
    .getByRole("row")
    .filter({ has: tab.page.getByRole("rowheader", { name, exact: true }) });

/** Waits until the region's heading has the focus. */
const headingHasFocus = (tab: Tab, name: string) =>
  tab.region(name).getByRole("heading", { name, level: 2 }).and(tab.page.locator(":focus")).waitFor();

test("the console shows queues, functions, topic, outbox and archive", async tab => {
  await tab.goto(`${system.url}/console`);
  for (const name of ["Queues", "Dead letters", "Functions", "Topic", "Outbox", "Archive", "Shuffle"]) {
    await tab.region(name).waitFor();
  }
  await tab.sees("OrderCreated", tab.region("Queues"));
  await tab.sees("None.", tab.region("Dead letters"));
  await tab.mainState("console");
});

test("a dead letter is shown with its reason, and moves back to its queue", async tab => {
  await tab.goto(`${system.url}/console/`);
  const order = new Order({ consumerId: newConsumer() });
  const letters = tab.region("Dead letters");
  await system.send("ftgo-order-history-OrderCreated", "<b>not JSON</b>");
  await letters.getByText("malformed_body").waitFor({ timeout: 30_000 });
  await letters.getByText("Body", { exact: true }).click();
  await tab.sees("<b>not JSON</b>", letters);
  await tab.mainState("console-dead-letter");

  await tab.sees("received 5 times", letters);
  await letters.getByRole("button", { name: /^Redrive/ }).press("Enter");
  await tab.sees(/1 message moved back/);
  await headingHasFocus(tab, "Dead letters");
  await tab.button("Dismiss").press("Enter");
  await tab.page.locator("section:focus").and(tab.region("Messages")).waitFor({ state: "attached" });
  // The message fails again, so it returns; it does not block good messages.
  await system.publish([order.created()]);
  await system.order(order.id);
  await letters.getByText("malformed_body").waitFor({ timeout: 30_000 });
});

test("a function's log can be read, and a killed function starts again", async tab => {
  await tab.goto(`${system.url}/console/`);
  const order = new Order({ consumerId: newConsumer() });
  await system.publish([order.created()]);
  await system.order(order.id);
  const functions = tab.region("Functions");
  const created = row(tab, "Functions", "OrderCreated");
  await functions.getByRole("button", { name: "OrderCreated", exact: true }).click();
  await tab.page.getByLabel(/^Log of .*OrderCreated/).waitFor();
  await tab.state("console-log");
  const processes = async () => Number(await created.getByRole("cell").first().textContent());
  await eventually("a process of the function", async () => ((await processes()) > 0 ? true : undefined));
  await created.getByRole("button", { name: /^Kill/ }).click();
  await tab.sees(/\d+ process(es)? killed/);
  const next = new Order({ consumerId: newConsumer() });
  await system.publish([next.created()]);
  await system.order(next.id);
  await eventually("another process", async () => ((await processes()) > 0 ? true : undefined));
});

test(
  "the next event of an order can be published, and the page shows it",
  async tab => {
    await tab.goto(`${system.url}/console/`);
    await tab.button("New order").click();
    const created = tab.page.getByText(/^Order \S+ was created/);
    await created.waitFor();
    const orderId = /^Order (\S+)/.exec((await created.textContent()) ?? "")?.[1] ?? assert.fail();
    const another = await tab.another();
    await another.goto(`${system.url}/#/orders/${orderId}`);
    await another.sees("Waiting for approval");
    await tab.button(/^Publish OrderAuthorized/).click();
    await tab.sees(`OrderAuthorized of order ${orderId} was published`);
    await tab.sees("OrderAuthorized", tab.region("Topic"));
    await another.sees("Approved");
    await tab.state("console-next-event");
    // The offered events depend on the published ones.
    await tab.button(/^Publish TicketCreated/).click();
    await another.sees("Waiting for the kitchen");
    await another.close();
    await tab
      .link(new RegExp(`order ${orderId}`, "i"))
      .first()
      .click();
    await tab.sees("Waiting for the kitchen");
  },
  { failures: [404] },
);

test(
  "two clicks, or two presses of a key, publish one event, and the focus stays in the region",
  async tab => {
    await tab.goto(`${system.url}/console/`);
    const sent: string[] = [];
    tab.page.on("request", request => {
      if (request.method() === "POST") sent.push(`${new URL(request.url()).pathname} ${request.postData()}`);
    });
    await tab.button("New order").dblclick({ delay: 300 });
    await tab.sees(/^Order \S+ was created/);
    assert.equal(sent.length, 1, `${sent}`);
    // Slow enough that the response arrives between the two clicks.
    await tab.button(/^Publish OrderAuthorized/).dblclick({ delay: 300 });
    await tab.sees(/^OrderAuthorized of order \S+ was published/);
    assert.equal(sent.length, 2, `${sent}`);

    let answer = () => {};
    const isAnswered = new Promise<void>(resolve => {
      answer = resolve;
    });
    await tab.page.route("**/console/api/orders/*/events", async route => {
      await isAnswered;
      await route.continue();
    });
    const created = tab.button(/^Publish TicketCreated/);
    await created.press("Enter");
    await tab.page.getByRole("button", { name: /^Publish TicketCreated/, disabled: true }).waitFor();
    await created.press("Enter");
    answer();
    await tab.sees(/^TicketCreated of order \S+ was published/);
    await headingHasFocus(tab, "Orders");
    assert.equal(sent.length, 3, `${sent}`);
    // Only events that are possible now are offered.
    assert.equal(await created.count(), 0);
  },
  { failures: [404] },
);

test("another site can neither read the console nor use its buttons", async tab => {
  const port = new URL(system.url).port;
  for (const [headers, why] of [
    [{ host: `evil.example:${port}` }, "a name that resolves to this machine"],
    [{ origin: "https://evil.example" }, "a script of another site"],
    [{ "sec-fetch-site": "cross-site" }, "a form of another site"],
  ] as const) {
    const response = await tab.page.request.post(`${system.url}/console/api/orders`, { headers, data: {} });
    assert.equal(response.status(), 403, why);
  }
});

test(
  "a stopped system is reported, and the console recovers",
  async tab => {
    await tab.goto(`${system.url}/console/`);
    await tab.sees("OrderCreated", tab.region("Queues"));
    await tab.context.setOffline(true);
    await tab.sees(/does not answer/);
    await tab.state("console-down");
    await tab.context.setOffline(false);
    await tab.seesNot(/does not answer/);
  },
  { lostResponses: true },
);

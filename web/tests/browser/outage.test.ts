// The system stops and starts again while the page is open.
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

test(
  "a missing response is reported, the shown data stays, and the page recovers automatically",
  async tab => {
    const order = new Order({ consumerId: newConsumer() });
    await system.publish([order.created()]);
    await system.order(order.id);
    await tab.goto(`${system.url}/#/orders/${order.id}`);
    await tab.sees("Waiting for approval");
    await system.stop();
    await tab.sees(/does not answer/i);
    await tab.sees("Chicken Vindaloo");
    await tab.mainState("system-down");

    system = await system.startAgain();
    await system.publish([order.now().event("OrderAuthorized")]);
    await tab.page.getByText("Approved").first().waitFor({ timeout: 60_000 });
    await tab.seesNot(/does not answer/i);
  },
  { lostResponses: true },
);

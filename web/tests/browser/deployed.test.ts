// The deployed page, run by tests/e2e/run: real tokens of its issuer, and the rules for who sees which orders.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before } from "node:test";
import { inBrowser, type Tab } from "./browser";
import { type Message, newConsumer, Order } from "./events";
import { eventually } from "./eventually";

const variable = (name: string) => process.env[name] ?? assert.fail(`${name} is not set: tests/e2e/run sets it`);
const PAGE = `${variable("E2E_API_URL")}/`;
const ISSUER = variable("E2E_ISSUER");
const GATEWAY = variable("E2E_GATEWAY_URL");

// The users' names at the issuer.
const ADA = { name: "Ada, a consumer", id: "consumer-ada" };
const BOB = { name: "Bob, another consumer", id: "consumer-bob" };
const SAM = { name: "Sam, of the support desk" };

const orders = {
  ada: new Order({ consumerId: ADA.id, restaurant: "Ajanta" }),
  bob: new Order({ consumerId: BOB.id, restaurant: "Zur Goldenen Krone" }),
  other: new Order({ consumerId: newConsumer(), restaurant: "Chez Panisse" }),
};

function publish(messages: readonly Message[]): void {
  const publisher = spawnSync(variable("E2E_PYTHON"), ["../tests/e2e/publish.py"], { input: JSON.stringify(messages) });
  assert.equal(publisher.status, 0, String(publisher.stderr));
}

const test = inBrowser();
const EXPECTED = { origins: [ISSUER], failures: [401, 404] };

before(() => publish(Object.values(orders).map(order => order.created())));

interface SignIn {
  /** The lifetime of the token, in seconds. */
  lifetime?: number;
  refresh?: boolean;
}

/** Signs in at the issuer with the page's button. */
async function signIn(
  tab: Tab,
  user: { name: string },
  { lifetime = 600, refresh = false }: SignIn = {},
): Promise<void> {
  await tab.button("Sign in").click();
  await tab.sees("Who are you?");
  await tab.field(/good for/).fill(String(lifetime));
  await tab.field(/refreshed/).setChecked(refresh);
  await tab.button(user.name).click();
  await tab.page.waitForURL(url => url.href.startsWith(PAGE));
  await tab.button("Sign out").waitFor();
}

/** Signs out, with the redirects to the issuer and back. */
async function signOut(tab: Tab): Promise<void> {
  const back = tab.page.waitForEvent("load");
  await tab.button("Sign out").click();
  await back;
  await tab.button("Sign in").waitFor();
}

async function paysOnce(tab: Tab, order: Order): Promise<void> {
  const payment = tab.region("Payment");
  await payment.getByRole("button", { name: "Create payment" }).click();
  await payment.getByRole("button", { name: /^Pay/ }).click();
  await payment.getByText("Paid", { exact: true }).waitFor();
  const response = await fetch(`${GATEWAY}/charges`);
  const { charges } = (await response.json()) as { charges: { orderId: string }[] };
  assert.equal(charges.filter(charge => charge.orderId === order.id).length, 1);
}

test(
  "a consumer signs in and sees only their own orders",
  async tab => {
    await tab.goto(PAGE);
    await tab.button("Sign in").waitFor();
    await tab.mainState("signed-out");
    await signIn(tab, ADA);
    await tab.page.getByRole("heading", { name: "Orders" }).waitFor();
    await tab.sees(orders.ada.id);
    assert.ok(!(await tab.page.content()).includes(orders.bob.id));
    assert.equal(await tab.field("Consumer").count(), 0, "a consumer cannot choose whose orders they see");
    const address = new URL(tab.page.url());
    assert.equal(address.search, "", "code and state are gone from the address");
    await tab.mainState("signed-in");

    // The part after # in the address does not change this.
    await tab.goto(`${PAGE}#/?consumer=${BOB.id}`);
    const listed = tab.page.waitForResponse(response => new URL(response.url()).pathname.endsWith("/orders"));
    await tab.page.reload();
    assert.equal(new URL((await listed).url()).searchParams.get("consumerId"), null);
    await tab.sees(orders.ada.id);
    assert.ok(!(await tab.page.content()).includes(orders.bob.id));
    await tab.goto(`${PAGE}#/orders/${orders.bob.id}`);
    await tab.sees(/no such order/i);
    await tab.state("order-of-another-consumer");
  },
  EXPECTED,
);

test(
  "a reload stays signed in, another tab does not",
  async tab => {
    await tab.goto(PAGE);
    await signIn(tab, ADA);
    await tab.page.reload();
    await tab.button("Sign out").waitFor();
    await tab.sees(orders.ada.id);
    const another = await tab.another();
    await another.goto(PAGE);
    await another.button("Sign in").waitFor();
    await another.close();
  },
  EXPECTED,
);

test(
  "a support user sees the orders of any consumer",
  async tab => {
    await tab.goto(PAGE);
    await signIn(tab, SAM);
    for (const order of [orders.other, orders.ada]) {
      await tab.field("Consumer").fill(order.consumerId);
      await tab.page.keyboard.press("Enter");
      await tab.sees(order.id);
    }
    await tab.mainState("support");
    await tab.goto(`${PAGE}#/orders/${orders.bob.id}`);
    await tab.sees("Zur Goldenen Krone");
    // Support pays for a consumer.
    await paysOnce(tab, orders.bob);
  },
  EXPECTED,
);

test(
  "the end of a session is reported, and signing in again returns to the same order",
  async tab => {
    await tab.goto(PAGE);
    await signIn(tab, ADA, { lifetime: 20 });
    await tab.goto(`${PAGE}#/orders/${orders.ada.id}`);
    await tab.sees("Ajanta");
    await tab.page.getByText("Your session has ended").waitFor({ timeout: 60_000 });
    await tab.sees("Ajanta");
    await tab.mainState("session-ended");
    await signIn(tab, ADA);
    await tab.sees("Ajanta");
    assert.equal(new URL(tab.page.url()).hash, `#/orders/${orders.ada.id}`);
  },
  EXPECTED,
);

test(
  "a token is refreshed without the user noticing",
  async tab => {
    await tab.goto(PAGE);
    const bearers = new Set<string>();
    tab.page.on("request", request => {
      const { authorization } = request.headers();
      if (authorization) bearers.add(authorization);
    });
    await signIn(tab, ADA, { lifetime: 8, refresh: true });
    await eventually("a request with another token", async () => (bearers.size > 1 ? true : undefined));
    await tab.page.reload();
    await tab.sees(orders.ada.id);
    await tab.seesNot("Your session has ended");
  },
  EXPECTED,
);

test(
  "a denied sign-in is reported",
  async tab => {
    await tab.goto(PAGE);
    await tab.button("Sign in").click();
    await tab.button("Deny").click();
    await tab.sees("Sign-in was cancelled");
    await tab.button("Sign in").waitFor();
    await tab.state("sign-in-denied");
  },
  EXPECTED,
);

test(
  "after a sign-out there is no token, and the API rejects requests",
  async tab => {
    await tab.goto(PAGE);
    let token: string | undefined;
    tab.page.on("request", request => {
      token ??= request.headers().authorization;
    });
    await signIn(tab, ADA, { refresh: true });
    await tab.sees(orders.ada.id);
    assert.match(token ?? "", /^Bearer ey/);
    await signOut(tab);
    const stored = await tab.page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }));
    assert.ok(!/ey[\w-]+\.ey/.test(stored), `nothing of a token is left in ${stored}`);
    assert.ok(!stored.includes("refresh"), stored);
    assert.ok(!(await tab.page.content()).includes(orders.ada.id), "the orders are gone from the page");
    const response = await tab.page.request.get(`${PAGE}orders`);
    assert.equal(response.status(), 401);
    await tab.state("after-sign-out");
  },
  EXPECTED,
);

test(
  "a forged or replayed response of the issuer is rejected",
  async tab => {
    const forged = `${PAGE}?code=forged&state=forged&iss=${encodeURIComponent(ISSUER)}`;
    await tab.goto(forged);
    await tab.sees("Sign-in failed");
    await tab.state("sign-in-forged");
    // The same while the user is signing in.
    await tab.button("Sign in").click();
    await tab.sees("Who are you?");
    let codes = 0;
    tab.page.on("request", request => {
      if (request.url() === `${ISSUER}/token`) codes += 1;
    });
    await tab.goto(forged);
    await tab.sees("Sign-in failed");
    assert.equal(codes, 0, "a code that came with another state is not sent to the issuer");

    let callback = "";
    tab.page.on("request", request => {
      if (request.isNavigationRequest() && request.url().includes("code=")) callback = request.url();
    });
    await signIn(tab, ADA);
    await tab.sees(orders.ada.id);
    assert.match(callback, /code=/);
    // A signed-in user stays signed in with any link.
    for (const link of [forged, `${PAGE}?error=access_denied&state=forged`, callback]) {
      await tab.goto(link);
      await tab.sees(orders.ada.id);
      await tab.button("Sign out").waitFor();
      assert.equal(new URL(tab.page.url()).search, "");
    }
    await signOut(tab);
    await tab.goto(callback);
    await tab.sees("Sign-in failed");
    assert.equal(await tab.button("Sign out").count(), 0);
  },
  { ...EXPECTED, failures: [400, 401] },
);

test(
  "a consumer pays on the deployed page",
  async tab => {
    await tab.goto(PAGE);
    await signIn(tab, ADA);
    await tab.goto(`${PAGE}#/orders/${orders.ada.id}`);
    await paysOnce(tab, orders.ada);
    await tab.state("deployed-paid");
  },
  EXPECTED,
);

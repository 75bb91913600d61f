import assert from "node:assert/strict";
import { test } from "node:test";
import type { OrderEntry } from "../../src/api/schema";
import { difference, hasMore, ordersOf, type ReadPage, readOn, refresh } from "../../src/page/history";

const order = (orderId: string, status = "APPROVED"): OrderEntry => ({
  orderId,
  status,
  consumerId: "42",
  orderCreationTime: "2026-11-18T12:00:00Z",
});

/** A server with orders, newest first, in pages of a size; a page's key is the number of orders before it. */
class Server {
  requests: (string | undefined)[] = [];
  constructor(
    public orders: OrderEntry[],
    private readonly pageSize: number,
  ) {}

  read: ReadPage = async (key, etag) => {
    this.requests.push(key);
    const start = key ? this.orders.findIndex(({ orderId }) => orderId === key) + 1 : 0;
    const orders = this.orders.slice(start, start + this.pageSize);
    const isLast = start + this.pageSize >= this.orders.length;
    const value = { orders, ...(isLast ? {} : { startKey: orders.at(-1)?.orderId ?? "" }) };
    const tag = JSON.stringify(value);
    return tag === etag ? { kind: "unchanged" } : { kind: "found", status: 200, value, etag: tag };
  };
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => order(`o${index}`));

test("the first page is read, then the next", async () => {
  const server = new Server(ids(45), 20);
  const first = await readOn([], server.read);
  assert.equal(ordersOf(first.pages).length, 20);
  assert.ok(hasMore(first.pages));
  const all = await readOn((await readOn(first.pages, server.read)).pages, server.read);
  assert.deepEqual(ordersOf(all.pages), server.orders);
  assert.ok(!hasMore(all.pages));
});

test("short pages are read until there are enough orders", async () => {
  const { pages } = await readOn([], new Server(ids(45), 4).read);
  assert.equal(ordersOf(pages).length, 12);
});

test("empty pages do not end the list, and reading stops after some requests", async () => {
  let requests = 0;
  const read: ReadPage = async () => {
    requests += 1;
    return { kind: "found", status: 200, value: { orders: [], startKey: `k${requests}` } };
  };
  const { pages } = await readOn([], read);
  assert.equal(requests, 5);
  assert.ok(hasMore(pages));
});

test("a refresh without changes changes nothing", async () => {
  const server = new Server(ids(45), 20);
  const { pages } = await readOn((await readOn([], server.read)).pages, server.read);
  const again = await refresh(pages, server.read);
  assert.ok(!again.changed);
  assert.deepEqual(again.pages, pages);
});

test("a new order pushes others to the next page, and none is lost or shown twice", async () => {
  const server = new Server(ids(45), 20);
  const { pages } = await readOn((await readOn([], server.read)).pages, server.read);
  server.orders = [order("new"), ...server.orders];
  const again = await refresh(pages, server.read);
  assert.ok(again.changed);
  assert.deepEqual(ordersOf(again.pages), server.orders.slice(0, 40));
  assert.deepEqual(difference(ordersOf(pages), ordersOf(again.pages)), { added: ["new"], changed: [] });
});

test("an order that no longer matches is removed, and a changed one is reported", async () => {
  const server = new Server(ids(12), 20);
  const { pages } = await readOn([], server.read);
  server.orders = [order("o0", "CANCELLED"), ...server.orders.slice(2)];
  const again = await refresh(pages, server.read);
  assert.deepEqual(ordersOf(again.pages), server.orders);
  assert.deepEqual(difference(ordersOf(pages), ordersOf(again.pages)), { added: [], changed: ["o0"] });
});

test("only the first pages are refreshed, unless their ends changed", async () => {
  const server = new Server(ids(200), 20);
  let { pages } = await readOn([], server.read);
  for (let count = 0; count < 9; count += 1) ({ pages } = await readOn(pages, server.read));
  assert.equal(pages.length, 10);
  server.requests = [];
  await refresh(pages, server.read);
  assert.equal(server.requests.length, 5);
  server.orders = [order("new"), ...server.orders];
  server.requests = [];
  const again = await refresh(pages, server.read);
  assert.equal(server.requests.length, 10);
  assert.deepEqual(ordersOf(again.pages), server.orders.slice(0, 200));
});

test("a failed refresh keeps the shown orders", async () => {
  const { pages } = await readOn([], new Server(ids(5), 20).read);
  const problem = { title: "No response", status: 0 };
  const again = await refresh(pages, async () => ({ kind: "problem", problem }));
  assert.deepEqual(again, { pages, changed: false, problem });
});

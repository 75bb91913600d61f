import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Filter,
  NO_FILTER,
  orderHash,
  ordersHash,
  parseRoute,
  sinceDay,
  sinceParameter,
} from "../../src/page/route";

const NOW = Date.parse("2026-11-18T12:00:00Z");

test("a route and its address convert into each other", () => {
  const filters: Filter[] = [
    NO_FILTER,
    { consumer: "42", status: "APPROVED", words: "crème brûlée & tea", since: "2026-11-01" },
    { consumer: "a/b#c?d=e&f", status: "", words: "", since: "" },
  ];
  for (const filter of filters) assert.deepEqual(parseRoute(ordersHash(filter)), { name: "orders", filter });
  for (const orderId of ["99", "a/b", "100%", "#?&", "<b>", "日本"]) {
    assert.deepEqual(parseRoute(orderHash(orderId)), { name: "order", orderId });
  }
});

test("an empty address is the list", () => {
  for (const hash of ["", "#", "#/"]) assert.deepEqual(parseRoute(hash), { name: "orders", filter: NO_FILTER });
});

test("other addresses are unknown", () => {
  for (const hash of ["#/nowhere", "#/orders", "#/orders/", "#/orders/1/2", "#/orders/%zz"]) {
    assert.deepEqual(parseRoute(hash), { name: "unknown" }, hash);
  }
});

test("without a day, the list begins 30 days ago, at the beginning of a day", () => {
  assert.equal(sinceDay(NO_FILTER, NOW), "2026-10-19");
  assert.equal(sinceParameter(NO_FILTER, NOW), "2026-10-18T22:00:00.000Z");
  assert.equal(sinceParameter(NO_FILTER, NOW + 3_600_000), sinceParameter(NO_FILTER, NOW));
  assert.equal(sinceParameter({ ...NO_FILTER, since: "" }, NOW), "0");
});

test("an invalid day is ignored", () => {
  assert.deepEqual(parseRoute("#/?since=yesterday"), { name: "orders", filter: NO_FILTER });
});

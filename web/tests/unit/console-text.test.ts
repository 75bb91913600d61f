import assert from "node:assert/strict";
import { test } from "node:test";
import { age, bytes, count, logLine, number, pretty, shortName, time } from "../../src/console/text";

test("counts have a singular and a plural", () => {
  assert.equal(count(0, "message"), "0 messages");
  assert.equal(count(1, "message"), "1 message");
  assert.equal(count(2, "process", "processes"), "2 processes");
  assert.equal(number(12345), "12,345");
});

test("an age is rounded, never negative, and a text that is not a time is unchanged", () => {
  const now = "2026-11-18T05:00:00Z";
  assert.equal(age("2026-11-18T04:59:48Z", now), "12 s");
  assert.equal(age("2026-11-18T05:00:03Z", now), "0 s");
  assert.equal(age("2026-11-18T04:40:00Z", now), "20 min");
  assert.equal(age("2026-11-18T02:00:00Z", now), "3 h");
  assert.equal(age("2026-11-13T05:00:00Z", now), "5 days");
  assert.equal(age("yesterday", now), "yesterday");
});

test("a time is a time of day, and a text that is not a time is unchanged", () => {
  assert.match(time("2026-11-18T05:00:07Z"), /^\d\d:\d\d:07$/);
  assert.equal(time("soon"), "soon");
});

test("sizes have units", () => {
  assert.equal(bytes(0), "0 byte");
  assert.equal(bytes(48_213), "48 kB");
  assert.equal(bytes(1_234_567), "1.2 MB");
});

test("a body is shown with the JSON texts inside it unfolded", () => {
  const body = JSON.stringify({ payload: JSON.stringify({ orderId: "99" }), headers: { ID: "1" } });
  assert.deepEqual(JSON.parse(pretty(body)), { payload: { orderId: "99" }, headers: { ID: "1" } });
  assert.match(pretty(body), /\n {4}"orderId": "99"/);
});

test("a body that is not JSON is unchanged", () => {
  assert.equal(pretty("<b>not JSON</b>"), "<b>not JSON</b>");
  assert.equal(pretty(""), "");
  assert.deepEqual(JSON.parse(pretty('{"text":"{broken","number":"1"}')), { text: "{broken", number: "1" });
});

test("a very deeply nested body is shown", () => {
  const deep = "[".repeat(5000) + "]".repeat(5000);
  assert.ok(pretty(deep).length > 0);
  let folded = "{}";
  for (let level = 0; level < 8; level += 1) folded = JSON.stringify({ inner: folded });
  assert.ok(!pretty(folded).includes("\\"));
});

test("a member named __proto__ in a body is only data", () => {
  assert.match(pretty('{"__proto__":{"polluted":true}}'), /"__proto__"/);
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

test("a JSON log line is split into its fields", () => {
  const line = {
    timestamp: "2026-11-18T05:00:00Z",
    level: "ERROR",
    fields: { message: "failed", count: 3 },
    target: "handler",
    _aws: { Timestamp: 1 },
  };
  assert.deepEqual(logLine(JSON.stringify(line)), {
    at: "2026-11-18T05:00:00Z",
    level: "ERROR",
    text: "failed",
    rest: "count=3  target=handler",
  });
  assert.equal(logLine('{"level":"INFO","message":"flat"}').text, "flat");
});

test("any other log line is text", () => {
  for (const line of ["START RequestId: 1", "{broken", '"text"', "{}x"]) {
    assert.deepEqual(logLine(line), { at: "", level: "", text: line, rest: "" });
  }
  assert.equal(logLine('{"level":7,"fields":null}').rest, "");
});

test("a short name has no common prefix", () => {
  assert.equal(shortName("ftgo-order-history-OrderCreated"), "OrderCreated");
  assert.equal(shortName("ftgo-payments-charge"), "payments-charge");
  assert.equal(shortName("ftgo-"), "ftgo-");
  assert.equal(shortName("archiver"), "archiver");
});

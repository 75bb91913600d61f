import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiResponse } from "../../src/api/response";
import type { PaymentIntent } from "../../src/api/schema";
import { isDefinite, Keys, type Store } from "../../src/page/idempotency";
import { carryOut, intentions } from "../../src/page/payment";

class Memory implements Store {
  readonly items = new Map<string, string>();
  getItem = (name: string) => this.items.get(name) ?? null;
  setItem = (name: string, value: string) => void this.items.set(name, value);
  removeItem = (name: string) => void this.items.delete(name);
}

function numbered(store: Store): Keys {
  let count = 0;
  return new Keys(store, () => `key-${++count}`);
}

const problem = (status: number, name?: string, retryAfter?: number): ApiResponse<never> => ({
  kind: "problem",
  problem: {
    title: "",
    status,
    ...(name ? { type: `urn:ftgo:payments:problem:${name}` } : {}),
    ...(retryAfter === undefined ? {} : { retryAfter }),
  },
});
const done: ApiResponse<string> = { kind: "found", status: 202, value: "done" };

test("an intention has one key until it is settled, also after a reload", () => {
  const store = new Memory();
  assert.equal(numbered(store).keyFor("charge a"), "key-1");
  assert.equal(new Keys(store, () => "another").keyFor("charge a"), "key-1");
  const keys = numbered(store);
  keys.settle("charge a");
  assert.equal(new Keys(store, () => "another").keyFor("charge a"), "another");
});

test("another intention has another key", () => {
  const keys = numbered(new Memory());
  assert.notEqual(keys.keyFor("charge a"), keys.keyFor("charge b"));
});

test("the text of an intention contains everything that matters, and nothing else", () => {
  const intent = { paymentIntentId: "a", version: 1 } as PaymentIntent;
  assert.equal(intentions.charge(intent), intentions.charge({ ...intent }));
  const all = [
    intentions.create("99", 100, "USD"),
    intentions.create("99", 200, "USD"),
    intentions.create("99", 100, "EUR"),
    intentions.create("98", 100, "USD"),
    intentions.change(intent, 100),
    intentions.change(intent, 200),
    intentions.change({ ...intent, version: 2 }, 100),
    intentions.charge(intent),
    intentions.charge({ ...intent, version: 2 }),
  ];
  assert.equal(new Set(all).size, all.length);
});

test("the key is stored before the request is sent", async () => {
  const store = new Memory();
  await carryOut(numbered(store), "charge a", async key => {
    assert.deepEqual([...store.items.values()], [key]);
    return done;
  });
  assert.equal(store.items.size, 0);
});

test("an unclear result keeps the key, a definite one does not", () => {
  for (const [response, definite] of [
    [done, true],
    [problem(400, "invalid-request"), true],
    [problem(404, "payment-intent-not-found"), true],
    [problem(404), true],
    [problem(409, "wrong-state"), true],
    [problem(409, "order-has-open-intent"), true],
    [problem(412, "version-mismatch"), true],
    [problem(422, "idempotency-key-reused"), true],
    [problem(0), false],
    [problem(401), false],
    [problem(409, "conflict"), false],
    [problem(409, "idempotency-key-in-progress"), false],
    [problem(429), false],
    [problem(500, "internal-error"), false],
    [problem(503), false],
    [problem(504), false],
  ] as const) {
    assert.equal(isDefinite(response), definite, JSON.stringify(response));
  }
});

test("while another request is in progress, the same key is retried after the requested time", async () => {
  const responses = [problem(409, "idempotency-key-in-progress", 2), problem(409, "conflict"), done];
  const keys: string[] = [];
  const waits: number[] = [];
  const response = await carryOut(
    numbered(new Memory()),
    "charge a",
    async key => {
      keys.push(key);
      return responses[keys.length - 1] as ApiResponse<string>;
    },
    async seconds => void waits.push(seconds),
  );
  assert.deepEqual(response, done);
  assert.deepEqual(keys, ["key-1", "key-1", "key-1"]);
  assert.deepEqual(waits, [2, 1]);
});

test("the retries end after some attempts, and the next click has the same key", async () => {
  const keys = numbered(new Memory());
  const sent: string[] = [];
  const send = async (key: string) => {
    sent.push(key);
    return problem(503, "unavailable", 60);
  };
  const wait = async (seconds: number) => assert.ok(seconds <= 5);
  await carryOut(keys, "charge a", send, wait);
  await carryOut(keys, "charge a", send, wait);
  assert.equal(sent.length, 8);
  assert.deepEqual(new Set(sent), new Set(["key-1"]));
});

test("after a lost response, the user's next click has the same key", async () => {
  const keys = numbered(new Memory());
  const sent: string[] = [];
  for (const response of [problem(0), done, done]) {
    await carryOut(keys, "charge a", async key => {
      sent.push(key);
      return response;
    });
  }
  assert.deepEqual(sent, ["key-1", "key-1", "key-2"]);
});

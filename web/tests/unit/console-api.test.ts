import assert from "node:assert/strict";
import { test } from "node:test";
import { Api, Refused, Unreachable } from "../../src/console/api";
import { failure, sentence, withNotice, withoutNotice } from "../../src/console/notices";

interface Sent {
  url: string;
  init: RequestInit;
}

function answering(status: number, body: string): { api: Api; sent: Sent[] } {
  const sent: Sent[] = [];
  const api = new Api("api/", async (url, init) => {
    sent.push({ url, init });
    return new Response(body, { status });
  });
  return { api, sent };
}

test("names in addresses are encoded", async () => {
  const { api, sent } = answering(200, '{"moved":1}');
  await api.redrive("a/../b?c");
  await api.publish("9 9#", "OrderCreated");
  assert.equal(sent[0]?.url, "api/dead-letters/a%2F..%2Fb%3Fc/redrive");
  assert.equal(sent[1]?.url, "api/orders/9%209%23/events");
  assert.equal(sent[1]?.init.body, '{"eventType":"OrderCreated"}');
  assert.deepEqual(sent[1]?.init.headers, { "content-type": "application/json" });
});

test("a seed is sent only if there is one", async () => {
  const { api, sent } = answering(200, '{"id":"1"}');
  await api.startShuffle();
  await api.startShuffle(0);
  assert.deepEqual(
    sent.map(({ init }) => init.body),
    ["{}", '{"seed":0}'],
  );
});

test("a rejection keeps the API's message", async () => {
  const { api } = answering(404, '{"message":"There is no order 7."}');
  await assert.rejects(api.next("7"), error => {
    assert.ok(error instanceof Refused);
    assert.equal(error.status, 404);
    assert.equal(error.message, "There is no order 7.");
    return true;
  });
});

test("a response without a message is a rejection with its status", async () => {
  for (const [status, body] of [
    [502, "<html>"],
    [500, '{"message":""}'],
    [500, "null"],
    [200, "<html>"],
  ] as const) {
    await assert.rejects(answering(status, body).api.state(), {
      message: `The system answered with status ${status}.`,
    });
  }
});

test("a missing or incomplete response is unreachable", async () => {
  const down = new Api("api/", () => Promise.reject(new TypeError("failed to fetch")));
  await assert.rejects(down.state(), Unreachable);
  const broken = new Response(
    new ReadableStream({
      start: controller => controller.error(new Error("gone")),
    }),
  );
  await assert.rejects(new Api("api/", async () => broken).state(), Unreachable);
});

test("failures stay, a success stays until the next notice", () => {
  let notices = withNotice([], "good", "Done.");
  notices = withNotice(notices, "bad", "Failed.");
  notices = withNotice(notices, "good", "Done again.");
  assert.deepEqual(
    notices.map(notice => notice.text),
    ["Failed.", "Done again."],
  );
  notices = withNotice(notices, "bad", "Failed.");
  assert.deepEqual(
    notices.map(notice => notice.text),
    ["Failed."],
    "the same failure is told once",
  );
  assert.deepEqual(withoutNotice(notices, notices[0]?.id ?? -1), []);
});

test("only the newest failures are kept, and ids are unique", () => {
  let notices = withNotice([], "bad", "0");
  for (let number = 1; number < 9; number += 1) notices = withNotice(notices, "bad", String(number));
  assert.deepEqual(
    notices.map(notice => notice.text),
    ["5", "6", "7", "8"],
  );
  assert.equal(new Set(notices.map(notice => notice.id)).size, 4);
});

test("a failure is a sentence", () => {
  assert.equal(failure("Redrive", new Error("no such queue")), "Redrive failed: no such queue.");
  assert.equal(failure("Redrive", new Error("Is it there?")), "Redrive failed: Is it there?");
  assert.equal(sentence("there is no shuffle of this id"), "There is no shuffle of this id.");
  assert.equal(failure("Redrive", "odd"), "Redrive failed: unknown reason.");
});

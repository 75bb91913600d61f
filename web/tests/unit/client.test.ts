import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, type Credentials, SessionEnded } from "../../src/api/client";

interface Sent {
  path: string;
  request: RequestInit;
}

const OPEN: Credentials = { token: async () => undefined, refused: async () => false, end: () => undefined };

function clientOf(responses: (Response | Error)[], credentials = OPEN) {
  const sent: Sent[] = [];
  const client = new Client(credentials, async (path, request = {}) => {
    sent.push({ path: String(path), request: { ...request, headers: new Headers(request.headers) } });
    const response = responses[sent.length - 1];
    if (!response || response instanceof Error) throw response ?? new Error("no response left");
    return response;
  });
  const header = (index: number, name: string) => new Headers(sent[index]?.request.headers).get(name);
  return { client, sent, header };
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });

test("a list is requested with its ETag, without the browser's cache", async () => {
  const { client, sent, header } = clientOf([new Response(null, { status: 304 })]);
  const response = await client.orders({ consumerId: "4 2", since: "0", keywords: "crème" }, { ifNoneMatch: 'W/"a"' });
  assert.deepEqual(response, { kind: "unchanged" });
  assert.equal(sent[0]?.path, "orders?consumerId=4+2&since=0&keywords=cr%C3%A8me");
  assert.equal(sent[0]?.request.cache, "no-store");
  assert.equal(header(0, "if-none-match"), 'W/"a"');
});

test("an order's id is one segment of the path", async () => {
  const { client, sent } = clientOf([json(200, {})]);
  await client.order("a/b?c");
  assert.equal(sent[0]?.path, "orders/a%2Fb%3Fc");
});

test("a consistency token waits for its event", async () => {
  const { client, header } = clientOf([json(200, { orderId: "1" }, { etag: 'W/"b"' })]);
  const response = await client.order("1", { consistencyToken: "t" });
  assert.deepEqual(response, { kind: "found", status: 200, value: { orderId: "1" }, etag: 'W/"b"' });
  assert.equal(header(0, "consistency-token"), "t");
  assert.equal(header(0, "prefer"), "wait=5");
});

test("a command has its key and the version that the user saw", async () => {
  const { client, sent, header } = clientOf([json(202, { state: "CHARGE_REQUESTED" }, { "consistency-token": "t" })]);
  const response = await client.charge("k", "id", '"2"');
  assert.ok(response.kind === "found" && response.consistencyToken === "t");
  assert.equal(sent[0]?.path, "payment-intents/id/charge");
  assert.equal(header(0, "idempotency-key"), '"k"');
  assert.equal(header(0, "if-match"), '"2"');
});

test("a problem document is kept, with the values of its headers", async () => {
  const body = { type: "urn:x", title: "T", detail: "D", status: 409, requestId: "r" };
  const headers = { "content-type": "application/problem+json", "retry-after": "3" };
  const { client } = clientOf([json(409, body, headers)]);
  assert.deepEqual(await client.order("1"), { kind: "problem", problem: { ...body, retryAfter: 3 } });
});

test("a response of API Gateway has no type, and the request's id is in a header", async () => {
  const { client } = clientOf([json(404, { message: "Not Found" }, { "apigw-requestid": "g" })]);
  assert.deepEqual(await client.intent("1"), {
    kind: "problem",
    problem: { title: "HTTP 404", status: 404, requestId: "g" },
  });
});

test("a missing response and an incomplete response are problems", async () => {
  const { client } = clientOf([new TypeError("Failed to fetch"), new Response('{"orders":[', { status: 200 })]);
  const [lost, cut] = [await client.order("1"), await client.order("1")];
  assert.ok(lost.kind === "problem" && lost.problem.status === 0);
  assert.ok(cut.kind === "problem");
});

test("a rejected token is renewed once", async () => {
  const tokens = ["old", "new"];
  const credentials: Credentials = {
    token: async () => tokens.shift(),
    refused: async () => true,
    end: () => undefined,
  };
  const { client, sent, header } = clientOf([json(401, {}), json(200, {})], credentials);
  assert.equal((await client.order("1")).kind, "found");
  assert.equal(sent.length, 2);
  assert.equal(header(1, "authorization"), "Bearer new");
});

test("without a session nothing is sent", async () => {
  const credentials: Credentials = {
    token: async () => {
      throw new SessionEnded();
    },
    refused: async () => false,
    end: () => undefined,
  };
  const { client, sent } = clientOf([], credentials);
  const response = await client.order("1");
  assert.ok(response.kind === "problem" && response.problem.status === 401);
  assert.equal(sent.length, 0);
});

test("a new token that is rejected too ends the session", async () => {
  let isEnded = false;
  const credentials: Credentials = {
    token: async () => "t",
    refused: async () => true,
    end: () => {
      isEnded = true;
    },
  };
  const { client, sent } = clientOf([json(401, {}), json(401, {})], credentials);
  const response = await client.order("1");
  assert.ok(response.kind === "problem" && response.problem.status === 401);
  assert.equal(sent.length, 2);
  assert.ok(isEnded);
});

/** Ends only when it is aborted, like a request to a server that does not answer. */
function hanging(signal: AbortSignal | null | undefined): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
}

test("a request that takes too long is aborted and counts as no response", async () => {
  const client = new Client(OPEN, (_, request) => hanging(request?.signal), 10);
  const response = await client.order("1");
  assert.ok(response.kind === "problem" && response.problem.status === 0);
});

test("an incomplete response counts as no response", async () => {
  const response = new Response(
    new ReadableStream({
      start: controller => {
        controller.enqueue(new TextEncoder().encode('{"orderId":'));
        controller.error(new TypeError("network error"));
      },
    }),
    { status: 202 },
  );
  const { client } = clientOf([response]);
  const result = await client.charge("k", "id", '"2"');
  assert.ok(result.kind === "problem" && result.problem.status === 0);
});

test("the caller can abort a request", async () => {
  const abort = new AbortController();
  const client = new Client(OPEN, (_, request) => hanging(request?.signal));
  const response = client.order("1", { signal: abort.signal });
  abort.abort();
  assert.equal((await response).kind, "problem");
});

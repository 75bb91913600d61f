import assert from "node:assert/strict";
import { test } from "node:test";
import orderHistory from "../../../crates/order-history/query-api/openapi.json";
import payments from "../../../crates/payments/payment-api/openapi.json";
import { isNotDeployed, sentenceOf } from "../../src/page/problems";

const TYPES = [
  ...orderHistory.components.schemas.Problem.properties.type.enum,
  ...payments.components.schemas.Problem.properties.type.enum,
];

test("every problem of both APIs has its own sentence", () => {
  assert.ok(TYPES.length >= 26);
  for (const type of TYPES) {
    const { text } = sentenceOf({ type, title: "TITLE", detail: "DETAIL", status: 400 });
    assert.match(text, /^[A-Z].*\.$/, type);
    assert.doesNotMatch(text, /TITLE|DETAIL|If-Match|Idempotency|urn:|CHARGE_|HTTP/, type);
  }
});

test("a rejected change gives the reason from the state of the payment", () => {
  const type = "urn:ftgo:payments:problem:wrong-state";
  const texts = payments.components.schemas.Problem.properties.state.enum.map(
    state => sentenceOf({ type, state, title: "", status: 409 }).text,
  );
  assert.equal(new Set(texts).size, texts.length);
  assert.match(sentenceOf({ type, state: "CHARGE_REQUESTED", title: "", status: 409 }).text, /already in progress/);
  assert.match(sentenceOf({ type, state: "REFUNDED", title: "", status: 409 }).text, /no longer/);
});

test("an unknown problem is shown with its own text", () => {
  const problem = {
    type: "urn:ftgo:payments:problem:too-hot",
    title: "Too hot",
    detail: "Wait a little.",
    status: 409,
  };
  assert.equal(sentenceOf(problem).text, "Too hot. Wait a little.");
});

test("a response without a problem document gets a sentence for its status", () => {
  const text = (status: number) => sentenceOf({ title: `HTTP ${status}`, status }).text;
  assert.match(text(0), /did not answer/);
  assert.match(text(401), /sign in/);
  assert.match(text(429), /busy/);
  assert.match(text(502), /our side/);
});

test("mistakes use the page's names of the fields", () => {
  const { mistakes, requestId } = sentenceOf({
    type: "urn:ftgo:order-history:problem:invalid-parameters",
    title: "",
    status: 400,
    requestId: "r-1",
    errors: [{ parameter: "keywords", detail: "must be at most 10 words in total" }],
  });
  assert.deepEqual(mistakes, ["Words: must be at most 10 words in total"]);
  assert.equal(requestId, "r-1");
});

test("only a gateway without the route means that a service is not deployed", () => {
  assert.ok(isNotDeployed({ title: "", status: 404 }));
  assert.ok(!isNotDeployed({ title: "", status: 404, type: "urn:ftgo:payments:problem:payment-intent-not-found" }));
  assert.ok(!isNotDeployed({ title: "", status: 0 }));
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Payment, PaymentIntent } from "../../src/api/schema";
import { stageOf } from "../../src/page/payment";

const payment = (id: string, status: string): Payment => ({
  paymentIntentId: id,
  status,
  amount: 100,
  currency: "USD",
});
const intent = (id: string, state: PaymentIntent["state"]) =>
  ({ paymentIntentId: id, state, amount: 100, currency: "USD" }) as PaymentIntent;

function check(seen: Payment | undefined, own: PaymentIntent | undefined, expected: string, id?: string): void {
  const stage = stageOf(seen, own);
  assert.equal(stage.name, expected);
  if (id && stage.name !== "none") {
    assert.equal(stage.name === "open" ? stage.intent.paymentIntentId : stage.payment.paymentIntentId, id);
  }
}

test("without an own intent, the order has the stage of the payment", () => {
  check(undefined, undefined, "none");
  check(payment("a", "CHARGE_REQUESTED"), undefined, "requested");
  check(payment("a", "CHARGED"), undefined, "paid");
  check(payment("a", "CHARGE_FAILED"), undefined, "failed");
});

test("an intent that is not charged yet is not in the order", () => {
  check(undefined, intent("a", "CREATED"), "open");
  check(undefined, intent("a", "CHARGE_REQUESTED"), "requested");
});

test("for one intent, the later state is used", () => {
  check(payment("a", "CHARGE_REQUESTED"), intent("a", "CREATED"), "requested");
  check(payment("a", "CHARGE_REQUESTED"), intent("a", "CHARGED"), "paid");
  check(payment("a", "CHARGED"), intent("a", "CHARGE_REQUESTED"), "paid");
  check(payment("a", "CHARGE_FAILED"), intent("a", "CHARGE_REQUESTED"), "failed");
});

test("after a failed payment, the new one is used", () => {
  check(payment("a", "CHARGE_FAILED"), intent("b", "CREATED"), "open", "b");
  check(payment("a", "CHARGE_FAILED"), intent("b", "CHARGE_REQUESTED"), "requested", "b");
});

test("an order that is paid by another intent is paid", () => {
  check(payment("b", "CHARGED"), intent("a", "CREATED"), "paid", "b");
  check(payment("b", "CHARGE_REQUESTED"), intent("a", "CHARGE_FAILED"), "requested", "b");
});

test("an unknown status is unchanged", () => {
  check(payment("a", "REFUNDED"), undefined, "other");
  check(payment("a", "REFUNDED"), intent("a", "CHARGED"), "other");
  check(payment("a", "toString"), undefined, "other");
});

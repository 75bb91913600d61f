// Paying for an order: the stage of the payment, and commands that are executed once.
import type { ApiResponse, Problem } from "../api/response";
import type { Payment, PaymentIntent } from "../api/schema";
import { isDefinite, type Keys } from "./idempotency";
import { isOfType } from "./problems";

export type Stage =
  | { name: "none" }
  /** Created and not charged: the amount can change. */
  | { name: "open"; intent: PaymentIntent }
  | { name: "requested" | "paid" | "failed" | "other"; payment: Payment };

/**
 * The stage of the payment, from the order and the last response of Payments. The order gets the payment later, by events, and never
 * contains an intent that is not charged yet.
 */
export function stageOf(seen: Payment | undefined, intent: PaymentIntent | undefined): Stage {
  if (!intent) return seen ? stageOfPayment(seen) : { name: "none" };
  const own = stageOfIntent(intent);
  if (!seen) return own;
  if (seen.paymentIntentId === intent.paymentIntentId)
    return rank(seen.status) >= rank(intent.state) ? stageOfPayment(seen) : own;
  // An order has at most one open intent, and is paid once. A failed one is finished; with a paid or requested one there is no other.
  return seen.status === "CHARGE_FAILED" ? own : stageOfPayment(seen);
}

/** The texts of intentions, for their keys: the same intention has the same text. */
export const intentions = {
  create: (orderId: string, amount: number, currency: string) => `create ${amount} ${currency} ${orderId}`,
  change: (intent: PaymentIntent, amount: number) => `change ${intent.paymentIntentId} ${intent.version} ${amount}`,
  charge: (intent: PaymentIntent) => `charge ${intent.paymentIntentId} ${intent.version}`,
};

const ATTEMPTS = 4;
const LONGEST_WAIT = 5;

/**
 * Sends a command with the key of its intention. While another request with the key is in progress, it retries after the time that the
 * service requests. After any other unclear result, the user's next click sends the same key.
 */
export async function carryOut<T>(
  keys: Keys,
  intention: string,
  send: (key: string) => Promise<ApiResponse<T>>,
  wait: (seconds: number) => Promise<void> = sleep,
): Promise<ApiResponse<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(keys.keyFor(intention));
    if (isDefinite(response)) {
      keys.settle(intention);
      return response;
    }
    if (response.kind !== "problem" || !isBusy(response.problem) || attempt === ATTEMPTS) return response;
    await wait(Math.min(LONGEST_WAIT, Math.max(1, response.problem.retryAfter ?? 1)));
  }
}

function isBusy(problem: Problem): boolean {
  return isOfType(problem, "idempotency-key-in-progress") || isOfType(problem, "conflict") || problem.status === 503;
}

function stageOfIntent(intent: PaymentIntent): Stage {
  if (intent.state === "CREATED") return { name: "open", intent };
  const { paymentIntentId, amount, currency, state, chargeId, errorCode, errorMessage } = intent;
  return stageOfPayment({
    paymentIntentId,
    amount,
    currency,
    status: state,
    ...(chargeId === undefined ? {} : { chargeId }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
  });
}

function stageOfPayment(payment: Payment): Stage {
  const names: Record<string, "requested" | "paid" | "failed"> = {
    CHARGE_REQUESTED: "requested",
    CHARGED: "paid",
    CHARGE_FAILED: "failed",
  };
  return { name: (Object.hasOwn(names, payment.status) && names[payment.status]) || "other", payment };
}

function rank(state: string): number {
  const order = ["CREATED", "CHARGE_REQUESTED"];
  const index = order.indexOf(state);
  return index < 0 ? order.length : index;
}

function sleep(seconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, seconds * 1000));
}

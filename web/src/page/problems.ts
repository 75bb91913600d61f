// The sentences for problem documents.
import type { Problem } from "../api/response";
import type { ProblemType } from "../api/schema";

const NOT_SIGNED_IN = "Please sign in first.";
const OUR_FAULT = "Something went wrong on our side. Please try again.";
const OVERLOADED = "We are very busy right now. Please try again in a moment.";
const MISSING = "The service does not have this address. This page may be an old version: please reload it.";
const SENT_WRONGLY = "The service did not accept the request of this page. Please reload the page and try again.";

const SENTENCES: Record<ProblemType, string> = {
  "urn:ftgo:order-history:problem:invalid-parameters": "Please check what you entered.",
  "urn:ftgo:order-history:problem:unauthenticated": NOT_SIGNED_IN,
  "urn:ftgo:order-history:problem:forbidden": "You can see only your own orders.",
  "urn:ftgo:order-history:problem:order-not-found": "There is no such order, or it belongs to somebody else.",
  "urn:ftgo:order-history:problem:route-not-found": MISSING,
  "urn:ftgo:order-history:problem:method-not-allowed": MISSING,
  "urn:ftgo:order-history:problem:not-yet-seen":
    "Your last change is not visible here yet. It will appear in a moment.",
  "urn:ftgo:order-history:problem:internal-error": OUR_FAULT,
  "urn:ftgo:order-history:problem:unavailable": OVERLOADED,
  "urn:ftgo:payments:problem:invalid-request": "Please check the amount.",
  "urn:ftgo:payments:problem:idempotency-key-missing": SENT_WRONGLY,
  "urn:ftgo:payments:problem:idempotency-key-invalid": SENT_WRONGLY,
  "urn:ftgo:payments:problem:unauthenticated": NOT_SIGNED_IN,
  "urn:ftgo:payments:problem:forbidden": "You can pay only for your own orders.",
  "urn:ftgo:payments:problem:method-not-allowed": MISSING,
  "urn:ftgo:payments:problem:idempotency-key-in-progress":
    "Your first click is still being processed. Please try again in a moment: you will not pay twice.",
  "urn:ftgo:payments:problem:conflict":
    "Somebody else is changing this payment right now. Please try again in a moment: you will not pay twice.",
  "urn:ftgo:payments:problem:idempotency-key-reused":
    "Your request was not processed, because its key was already used for another request. Please try again.",
  "urn:ftgo:payments:problem:internal-error":
    "Something went wrong on our side. Please try again: you will not pay twice.",
  "urn:ftgo:payments:problem:unavailable":
    "Payments are very busy right now. Please try again in a moment: you will not pay twice.",
  "urn:ftgo:payments:problem:route-not-found": MISSING,
  "urn:ftgo:payments:problem:payment-intent-not-found":
    "This payment does not exist any more, or it belongs to somebody else.",
  "urn:ftgo:payments:problem:order-has-open-intent": "This order already has a payment. It is shown here.",
  "urn:ftgo:payments:problem:order-already-paid": "This order is already paid.",
  "urn:ftgo:payments:problem:wrong-state": "This payment can no longer be changed.",
  "urn:ftgo:payments:problem:version-mismatch":
    "This payment was changed in another window. Please check the current amount and try again.",
};

const WRONG_STATE: Record<string, string> = {
  CHARGE_REQUESTED: "The payment is already in progress, so its amount can no longer change.",
  CHARGED: "This payment is complete, so it can no longer change.",
  CHARGE_FAILED: "This payment has failed, so it can no longer change. You can start a new one.",
};

export interface Sentence {
  text: string;
  /** One text for each mistake in the input. */
  mistakes: string[];
  requestId?: string;
}

export function sentenceOf(problem: Problem): Sentence {
  const mistakes = (problem.errors ?? []).map(({ parameter, detail }) => `${NAMES[parameter] ?? parameter}: ${detail}`);
  return { text: textOf(problem), mistakes, ...(problem.requestId ? { requestId: problem.requestId } : {}) };
}

const NAMES: Record<string, string> = {
  amount: "Amount",
  consumerId: "Consumer",
  keywords: "Words",
  orderId: "Order",
  since: "Since",
  status: "Status",
};

function textOf({ type, state, status, title, detail }: Problem): string {
  if (type?.endsWith(":wrong-state") && state && Object.hasOwn(WRONG_STATE, state)) return WRONG_STATE[state] as string;
  if (type && Object.hasOwn(SENTENCES, type)) return SENTENCES[type as ProblemType];
  if (type) return detail ? `${title}. ${detail}` : `${title}.`;
  if (status === 0) return "The service did not answer. Please check your connection and try again.";
  if (status === 401) return NOT_SIGNED_IN;
  if (status === 403) return "You do not have permission to do this.";
  if (status === 404) return MISSING;
  if (status === 429) return OVERLOADED;
  if (status >= 500) return OUR_FAULT;
  return detail ? `${title}. ${detail}` : `${title}.`;
}

/** Whether the response comes from API Gateway, which has no such route: the service is not deployed here. */
export function isNotDeployed({ status, type }: Problem): boolean {
  return status === 404 && type === undefined;
}

export function isOfType({ type }: Problem, name: string): boolean {
  return type?.endsWith(`:problem:${name}`) ?? false;
}

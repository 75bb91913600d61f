// Paying: start a payment, change its amount, charge it.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import type { ApiResponse, Problem } from "../../api/response";
import type { Order, PaymentIntent } from "../../api/schema";
import { once } from "../../once";
import type { Config } from "../config";
import { isDefinite, Keys } from "../idempotency";
import { decimalToMinor, formatDecimal, formatMinor, readTyped, typed } from "../money";
import { carryOut, intentions, type Stage, stageOf } from "../payment";
import { isNotDeployed, isOfType } from "../problems";
import type { Session } from "../session";
import { paymentStanding } from "../status";
import { announce } from "./announcements";
import { Chip, ProblemNotice } from "./parts";

interface PaymentProps {
  config: Config;
  session: Session;
  client: Client;
  order: Order;
  /** Reads the order now; with a token, from a view that has the command's event. */
  look: (consistencyToken?: string) => void;
}

export function PaymentCard(props: PaymentProps) {
  const { config, order } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const { stage, busy, problem, isAvailable, create, change, charge } = usePayment(props, heading);
  const isOver = order.status === "REJECTED" || order.status === "CANCELLED";
  return (
    <section class="card pay" aria-labelledby="payment">
      <h2 id="payment" ref={heading} tabIndex={-1}>
        Payment
      </h2>
      <Summary stage={stage} order={order} config={config} isOver={isOver} />
      {problem && (
        <ProblemNotice problem={problem}>
          {problem.type === undefined && isUnclear(problem) && (
            <p>You can press the button again: you will not pay twice.</p>
          )}
        </ProblemNotice>
      )}
      {!isAvailable && !isOver && stage.name !== "paid" && (
        <p class="quiet">Payment is not available: the payment service is not deployed.</p>
      )}
      {isOver && ["none", "open", "failed"].includes(stage.name) && (
        <p class="quiet">This order will not be delivered, so there is nothing to pay.</p>
      )}
      {isAvailable && !isOver && (stage.name === "none" || stage.name === "failed") && (
        <AmountForm
          key="create"
          label="Amount"
          button="Create payment"
          isPrimary
          isBusy={busy !== undefined}
          currency={config.currency}
          proposed={order.orderTotal === undefined ? undefined : decimalToMinor(order.orderTotal, config.currency)}
          submit={create}
        />
      )}
      {isAvailable && !isOver && stage.name === "open" && (
        <>
          <button type="button" class="button primary wide" aria-disabled={busy !== undefined} onClick={once(charge)}>
            {busy === "charge" ? "Paying…" : `Pay ${formatMinor(stage.intent.amount, stage.intent.currency)}`}
          </button>
          <AmountForm
            key="change"
            label="New amount"
            button="Change amount"
            isPrimary={false}
            isBusy={busy !== undefined}
            currency={stage.intent.currency}
            proposed={stage.intent.amount}
            submit={change}
          />
        </>
      )}
    </section>
  );
}

interface SummaryProps {
  stage: Stage;
  order: Order;
  config: Config;
  /** The order is rejected or cancelled and need not be paid. */
  isOver: boolean;
}

function Summary({ stage, order, config, isOver }: SummaryProps) {
  if (stage.name === "none") return isOver ? null : <p>This order is not paid yet.</p>;
  if (stage.name === "open") {
    if (isOver) return null;
    const { amount, currency } = stage.intent;
    return (
      <p class="amount">
        <strong>{formatMinor(amount, currency)}</strong>{" "}
        <span class="quiet">to pay. You can still change the amount.</span>
      </p>
    );
  }
  const { amount, currency, status, errorMessage, errorCode, chargeId, paymentIntentId } = stage.payment;
  const total = order.orderTotal;
  const differs = total !== undefined && currency === config.currency && decimalToMinor(total, currency) !== amount;
  return (
    <div class="summary">
      <p class="amount">
        <strong>{formatMinor(amount, currency)}</strong> <Chip standing={paymentStanding(status)} />
      </p>
      {stage.name === "requested" && (
        <p class="quiet">We are waiting for your bank. The result will appear here automatically.</p>
      )}
      {stage.name === "paid" && differs && <p class="quiet">The order’s total is {formatDecimal(total, currency)}.</p>}
      {stage.name === "failed" && (
        <p>
          <bdi>{errorMessage ?? errorCode ?? "The payment failed."}</bdi> Nothing was charged.
          {!isOver && " You can try again."}
        </p>
      )}
      <details class="quiet">
        <summary>Details</summary>
        <dl class="facts small">
          <div>
            <dt>Payment</dt>
            <dd class="mono">{paymentIntentId}</dd>
          </div>
          {chargeId && (
            <div>
              <dt>Charge</dt>
              <dd class="mono">{chargeId}</dd>
            </div>
          )}
          {errorCode && (
            <div>
              <dt>Code</dt>
              <dd class="mono">{errorCode}</dd>
            </div>
          )}
        </dl>
      </details>
    </div>
  );
}

interface AmountProps {
  label: string;
  button: string;
  isPrimary: boolean;
  isBusy: boolean;
  currency: string;
  /** In minor units. */
  proposed: number | undefined;
  submit: (amount: number) => void;
}

function AmountForm({ label, button, isPrimary, isBusy, currency, proposed, submit }: AmountProps) {
  const [text, setText] = useState(proposed === undefined ? "" : typed(proposed, currency));
  const [mistake, setMistake] = useState<string>();
  const field = useRef<HTMLInputElement>(null);
  const isTouched = useRef(false);
  useEffect(() => {
    if (!isTouched.current && proposed !== undefined) setText(typed(proposed, currency));
  }, [proposed, currency]);
  return (
    <form class="amount-form" onSubmit={send} noValidate>
      <label class="field">
        <span>
          {label} ({currency})
        </span>
        <input
          ref={field}
          inputMode="decimal"
          autocomplete="off"
          value={text}
          onInput={event => type(event.currentTarget.value)}
          aria-invalid={mistake !== undefined}
          aria-describedby={mistake ? "amount-mistake" : undefined}
        />
      </label>
      <button type="submit" class={isPrimary ? "button primary" : "button"} aria-disabled={isBusy}>
        {button}
      </button>
      {mistake && (
        <p id="amount-mistake" class="mistake" role="alert">
          {mistake}
        </p>
      )}
    </form>
  );

  function type(text: string) {
    isTouched.current = true;
    setText(text);
  }

  function send(event: Event) {
    event.preventDefault();
    if (isBusy) return;
    const amount = readTyped(text, currency);
    if (typeof amount !== "number") {
      setMistake(amount.mistake);
      field.current?.focus();
      return;
    }
    setMistake(undefined);
    isTouched.current = false;
    submit(amount);
  }
}

type Command = "create" | "change" | "charge";

function usePayment({ config, session, client, order, look }: PaymentProps, heading: { current: HTMLElement | null }) {
  const { orderId, consumerId } = order;
  const [intent, setIntent] = useState<PaymentIntent>();
  const [busy, setBusy] = useState<Command>();
  const [problem, setProblem] = useState<Problem>();
  const [isAvailable, setAvailable] = useState(known.isAvailable);
  const underway = useRef(false);
  const hasActed = useRef(false);
  const keys = useRef(new Keys(sessionStorage)).current;
  const stage = stageOf(order.payment, intent);

  useEffect(() => {
    void isDeployed(client).then(setAvailable);
  }, [client]);

  // A payment that was started earlier in this browser: the order does not contain it before it is charged.
  useEffect(() => {
    const id = localStorage.getItem(nameOf(orderId));
    if (id) void read(id);
  }, [client, orderId]);

  // If the pressed button was removed, the focus would be lost.
  useLayoutEffect(() => {
    if (hasActed.current && document.activeElement === document.body) heading.current?.focus();
    hasActed.current = false;
  }, [stage.name]);

  useEffect(() => {
    if (stage.name === "paid" || stage.name === "failed") localStorage.removeItem(nameOf(orderId));
    // The result is known now.
    if (stage.name === "paid") setProblem(undefined);
    if (stage.name === "requested") setProblem(before => (before && isUnclear(before) ? undefined : before));
  }, [stage.name]);

  return { stage, busy, problem, isAvailable, create, change, charge };

  function create(amount: number): void {
    const { currency } = config;
    void command("create", intentions.create(orderId, amount, currency), async key => {
      // A consumer pays for themselves; the token has their id.
      const payer = session.state.name === "signed-in" && !session.state.readsAny ? {} : { consumerId };
      return client.createIntent(key, { orderId, amount, currency, ...payer });
    });
  }

  function change(amount: number): void {
    if (!intent) return;
    if (amount === intent.amount) {
      announce("The amount is the same.");
      return;
    }
    void command("change", intentions.change(intent, amount), key => {
      return client.changeAmount(key, intent.paymentIntentId, etagOf(intent), amount);
    });
  }

  function charge(): void {
    if (!intent) return;
    // With the version that the user has seen, so that the charged amount is the one on the button.
    void command("charge", intentions.charge(intent), key =>
      client.charge(key, intent.paymentIntentId, etagOf(intent)),
    );
  }

  async function command(
    name: Command,
    intention: string,
    send: (key: string) => Promise<ApiResponse<PaymentIntent>>,
  ): Promise<void> {
    if (underway.current) return;
    underway.current = true;
    hasActed.current = true;
    setBusy(name);
    setProblem(undefined);
    const response = await carryOut(keys, intention, send);
    if (response.kind === "found") {
      accept(response.value);
      if (name === "change")
        announce(`The amount is now ${formatMinor(response.value.amount, response.value.currency)}.`);
      look(response.consistencyToken);
    } else if (response.kind === "problem") await explain(response.problem);
    setBusy(undefined);
    underway.current = false;
  }

  async function explain(problem: Problem): Promise<void> {
    look();
    if (isNotDeployed(problem)) {
      known.isAvailable = false;
      setAvailable(false);
      return;
    }
    setProblem(problem);
    const id = problem.paymentIntentId ?? intent?.paymentIntentId;
    const isElsewhere = ["order-has-open-intent", "version-mismatch", "wrong-state"].some(name =>
      isOfType(problem, name),
    );
    if (!id || !isElsewhere) return;
    const now = await read(id);
    // The other change was a charge, so the amount can no longer change: show that instead.
    if (isOfType(problem, "version-mismatch") && now && now.state !== "CREATED") {
      setProblem({ ...problem, type: "urn:ftgo:payments:problem:wrong-state", state: now.state });
    }
  }

  async function read(id: string): Promise<PaymentIntent | undefined> {
    const response = await client.intent(id);
    if (response.kind === "found" && response.value.orderId === orderId) {
      accept(response.value);
      return response.value;
    }
    if (response.kind === "problem" && response.problem.status === 404) localStorage.removeItem(nameOf(orderId));
    return undefined;
  }

  function accept(intent: PaymentIntent): void {
    setIntent(intent);
    const isOpen = intent.state === "CREATED" || intent.state === "CHARGE_REQUESTED";
    if (isOpen) localStorage.setItem(nameOf(orderId), intent.paymentIntentId);
  }
}

/** Whether Payments is deployed. It is requested once. */
const known: { isAvailable: boolean; asked?: Promise<boolean> } = { isAvailable: true };

function isDeployed(client: Client): Promise<boolean> {
  known.asked ??= client.paymentsHealth().then(response => {
    known.isAvailable = !(response.kind === "problem" && isNotDeployed(response.problem));
    return known.isAvailable;
  });
  return known.asked;
}

function isUnclear(problem: Problem): boolean {
  return !isDefinite({ kind: "problem", problem });
}

/** The ETag of a payment intent is its version. */
function etagOf({ version }: PaymentIntent): string {
  return `"${version}"`;
}

function nameOf(orderId: string): string {
  return `ftgo.intent.${orderId}`;
}

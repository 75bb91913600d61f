// One order.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import type { Problem } from "../../api/response";
import type { Order } from "../../api/schema";
import { ONE_ORDER, Poll } from "../../polling";
import type { Config } from "../config";
import { isOfType } from "../problems";
import type { Session } from "../session";
import { orderStanding } from "../status";
import { textOf } from "../timeline";
import { announce } from "./announcements";
import { DeliveryCard } from "./delivery";
import { Items } from "./items";
import { Lanes } from "./lanes";
import { Ago, Chip, Clock, ReadProblem, useNow } from "./parts";
import { PaymentCard } from "./payment";
import { Standings } from "./standings";

interface OrderProps {
  config: Config;
  session: Session;
  client: Client;
  orderId: string;
  /** The address of the list that the user came from. */
  back: string;
}

export function OrderPage({ config, session, client, orderId, back }: OrderProps) {
  const { order, problem, fresh, look } = useOrder(client, orderId);
  const now = useNow();
  const isMissing = problem !== undefined && isOfType(problem, "order-not-found");
  return (
    <>
      <nav aria-label="Back">
        <a class="back" href={back}>
          <span aria-hidden="true">←</span> All orders
        </a>
      </nav>
      <div class="title">
        <div class="heading">
          <h1 tabIndex={-1}>
            Order <bdi>{orderId}</bdi>
          </h1>
          {order?.status && <Chip standing={orderStanding(order.status)} />}
        </div>
        {order && <Lead order={order} now={now} />}
      </div>
      {problem && session.state.name !== "ended" && (
        <ReadProblem problem={problem} isShown={order !== undefined}>
          {isMissing && <p>A new order appears here automatically after a moment.</p>}
        </ReadProblem>
      )}
      {!order && !problem && <div class="card skeleton" aria-hidden="true" />}
      {order && (
        <>
          <Standings order={order} now={now} />
          <div class="columns">
            <div class="column">
              <Items order={order} currency={config.currency} />
              <DeliveryCard order={order} now={now} />
            </div>
            <PaymentCard config={config} session={session} client={client} order={order} look={look} />
          </div>
          <Lanes timeline={order.timeline} fresh={fresh} now={now} />
        </>
      )}
    </>
  );
}

function Lead({ order, now }: { order: Order; now: number }) {
  return (
    <p class="lead">
      {order.restaurantName && <bdi class="restaurant">{order.restaurantName}</bdi>}{" "}
      <span class="quiet">
        placed <Ago at={order.orderCreationTime} now={now} />, <Clock at={order.orderCreationTime} now={now} /> ·
        consumer <bdi class="mono">{order.consumerId}</bdi>
      </span>
    </p>
  );
}

interface Shown {
  order?: Order;
  problem?: Problem;
  /** Ids of the events that arrived a moment ago, while the page was open. */
  fresh: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const FRESH_FOR = 4_000;

function useOrder(client: Client, orderId: string) {
  const [shown, setShown] = useState<Shown>({ fresh: NONE });
  const look = useRef<(consistencyToken?: string) => void>(() => undefined);

  useEffect(() => {
    const abort = new AbortController();
    let current: { order: Order; etag: string | undefined } | undefined;
    let token: string | undefined;
    let hasProblem = false;
    const poll = new Poll(ONE_ORDER, async () => {
      const consistencyToken = token;
      token = undefined;
      const response = await client.order(orderId, {
        // With a consistency token the response must come from a view that has the event, whatever its ETag.
        ifNoneMatch: consistencyToken ? undefined : current?.etag,
        consistencyToken,
        signal: abort.signal,
      });
      if (abort.signal.aborted) return "over";
      if (response.kind === "found") {
        const fresh = current ? newEvents(current.order, response.value) : NONE;
        tellNews(current?.order, response.value);
        current = { order: response.value, etag: response.etag };
        hasProblem = false;
        setShown(before => ({ order: response.value, fresh: fresh.size > 0 ? fresh : before.fresh }));
        return "changed";
      }
      if (response.kind === "unchanged") {
        if (hasProblem) setShown(({ problem: _, ...rest }) => rest);
        hasProblem = false;
        return "unchanged";
      }
      // The view did not get the event in time. A later request will show it.
      if (isOfType(response.problem, "not-yet-seen")) return "changed";
      hasProblem = true;
      setShown(before => ({ ...before, problem: response.problem }));
      if (response.problem.status === 401) return "over";
      return isOfType(response.problem, "order-not-found") ? "unchanged" : "failed";
    });
    look.current = consistencyToken => {
      token = consistencyToken;
      poll.hurry();
    };
    return () => {
      abort.abort();
      poll.stop();
    };
  }, [client, orderId]);

  useEffect(() => {
    if (shown.fresh.size === 0) return;
    const timer = setTimeout(() => setShown(before => ({ ...before, fresh: NONE })), FRESH_FOR);
    return () => clearTimeout(timer);
  }, [shown.fresh]);

  const stable = useRef((consistencyToken?: string) => look.current(consistencyToken));
  return { ...shown, look: stable.current };
}

function newEvents(before: Order, after: Order): Set<string> {
  const known = new Set(before.timeline.map(({ eventId }) => eventId));
  return new Set(after.timeline.map(({ eventId }) => eventId).filter(id => !known.has(id)));
}

function tellNews(before: Order | undefined, after: Order): void {
  if (!before) return;
  const fresh = newEvents(before, after);
  const texts = after.timeline.filter(({ eventId }) => fresh.has(eventId)).map(({ type }) => textOf(type));
  if (texts.length > 0) announce(texts.join(". "));
}

// A consumer's orders.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Client } from "../../api/client";
import type { Problem } from "../../api/response";
import { A_LIST, Poll } from "../../polling";
import type { Config } from "../config";
import { difference, hasMore, ordersOf, type Page, type Read, type ReadPage, readOn, refresh } from "../history";
import { type Filter, hasConditions, sinceParameter } from "../route";
import type { Session } from "../session";
import { orderStanding } from "../status";
import { announce } from "./announcements";
import { OrderCard } from "./card";
import { Filters } from "./filters";
import { ReadProblem, useNow } from "./parts";
import { Whose } from "./whose";

interface OrdersProps {
  config: Config;
  session: Session;
  client: Client;
  filter: Filter;
}

const CONSUMER = "ftgo.consumer";

export function OrdersPage({ config, session, client, filter }: OrdersProps) {
  const { state } = session;
  const chooses = state.name === "open" || ((state.name === "signed-in" || state.name === "ended") && state.readsAny);
  const offered = config.authorization === "off" ? (config.consumers ?? []) : [];
  const consumer = chooses ? filter.consumer || sessionStorage.getItem(CONSUMER) || offered[0] || "" : "";
  if (chooses && filter.consumer) sessionStorage.setItem(CONSUMER, filter.consumer);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Orders</h1>
        {chooses && consumer && (
          <p class="quiet">
            of consumer <bdi class="mono">{consumer}</bdi>
          </p>
        )}
      </div>
      {state.name === "open" && (
        <p class="notice no-sign-in">
          There is no sign-in on this machine: you can see the orders of every consumer. Choose a consumer.
        </p>
      )}
      <div class="controls">
        {chooses && <Whose filter={filter} consumer={consumer} offered={offered} />}
        {(!chooses || consumer) && <Filters filter={{ ...filter, consumer: chooses ? consumer : "" }} />}
      </div>
      {chooses && !consumer ? (
        <p class="nothing">Enter the id of a consumer to see their orders.</p>
      ) : (
        <OrderList
          key={consumer}
          config={config}
          client={client}
          consumer={consumer}
          filter={filter}
          isEnded={state.name === "ended"}
        />
      )}
    </>
  );
}

interface ListProps {
  config: Config;
  client: Client;
  /** Empty: the consumer in the token. */
  consumer: string;
  filter: Filter;
  /** The session has ended; another notice says so. */
  isEnded: boolean;
}

function OrderList({ config, client, consumer, filter, isEnded }: ListProps) {
  const { pages, problem, isStale, isReading, fresh, more } = useOrders(client, consumer, filter);
  const now = useNow();
  const orders = useMemo(() => (pages ? ordersOf(pages) : []), [pages]);
  const list = useRef<HTMLUListElement>(null);
  const countBefore = useRef<number | undefined>(undefined);
  // After the last page the button is removed, and the focus would be lost: it moves to the first new order.
  useLayoutEffect(() => {
    if (isReading || countBefore.current === undefined) return;
    const links = list.current?.querySelectorAll("a") ?? [];
    if (document.activeElement === document.body) links[countBefore.current]?.focus();
    countBefore.current = undefined;
  }, [isReading]);
  return (
    <section aria-label="Order list" aria-busy={!pages || isStale}>
      {problem && !isEnded && <ReadProblem problem={problem} isShown={orders.length > 0} />}
      {!pages && !problem && <Skeleton />}
      {pages && (
        <ul ref={list} class={isStale ? "cards stale" : "cards"}>
          {orders.map(order => (
            <li key={order.orderId}>
              <OrderCard order={order} currency={config.currency} now={now} isFresh={fresh.has(order.orderId)} />
            </li>
          ))}
        </ul>
      )}
      {pages && orders.length === 0 && !problem && !isStale && <p class="nothing">{noOrders(pages, filter)}</p>}
      {pages && hasMore(pages) && (
        <p class="more">
          <button type="button" class="button" aria-disabled={isReading} onClick={readMore}>
            {isReading ? "Reading…" : "More orders"}
          </button>
        </p>
      )}
    </section>
  );

  function readMore() {
    if (isReading) return;
    countBefore.current = orders.length;
    more();
  }
}

function noOrders(pages: Page[], filter: Filter): string {
  if (hasMore(pages)) return "No matching orders so far. Older orders have not been searched yet.";
  if (hasConditions(filter)) return "No orders match. Try fewer filters, or an earlier day.";
  return "There are no orders in the last 30 days. Choose an earlier day to see older ones.";
}

/** A summary of the list for screen readers. */
function orderCount(pages: Page[], filter: Filter): string {
  const count = ordersOf(pages).length;
  if (count === 0) return noOrders(pages, filter);
  return `${count === 1 ? "1 order" : `${count} orders`}${hasMore(pages) ? ", and there are more" : ""}`;
}

function Skeleton() {
  return (
    <div class="cards" aria-hidden="true">
      <div class="card skeleton" />
      <div class="card skeleton" />
      <div class="card skeleton" />
    </div>
  );
}

interface Shown {
  pages?: Page[];
  problem?: Problem;
  /** The pages belong to the previous filter: they stay until the new ones arrive. */
  isStale: boolean;
  isReading: boolean;
  /** The orders that arrived or changed a moment ago. */
  fresh: ReadonlySet<string>;
}

const NONE: ReadonlySet<string> = new Set();
const FRESH_FOR = 4_000;

function useOrders(client: Client, consumer: string, filter: Filter) {
  const [shown, setShown] = useState<Shown>({ isStale: false, isReading: false, fresh: NONE });
  const more = useRef(() => {});
  const { status, words, since } = filter;

  useEffect(() => {
    const abort = new AbortController();
    const from = sinceParameter(filter, Date.now());
    const read: ReadPage = (startKey, ifNoneMatch) =>
      client.orders(
        {
          ...(consumer ? { consumerId: consumer } : {}),
          ...(status ? { status } : {}),
          ...(words ? { keywords: words } : {}),
          ...(startKey ? { startKey } : {}),
          since: from,
        },
        { ifNoneMatch, signal: abort.signal },
      );
    let pages: Page[] | undefined;
    let last: Promise<unknown> = Promise.resolve();
    /** Runs one after the other, because a refresh and "More orders" both change the chain of pages. */
    const inTurn = (work: () => Promise<Read>) => {
      const done = last.then(work);
      last = done.catch(() => undefined);
      return done;
    };
    const accept = ({ pages: next, changed, problem }: Read, fresh: ReadonlySet<string>, isMore = false) => {
      if (abort.signal.aborted) return;
      const isFirst = pages === undefined;
      if (next.length > 0) pages = next;
      if (isFirst && pages) announce(orderCount(pages, filter));
      setShown(before => {
        const isSame = !isFirst && !isMore && !changed && !problem && !before.problem;
        if (isSame) return before;
        return {
          isStale: false,
          // A refresh in the background does not finish the user's request for more orders.
          isReading: before.isReading && !isMore,
          fresh: fresh.size > 0 ? fresh : before.fresh,
          ...(pages ? { pages } : {}),
          ...(problem ? { problem } : {}),
        };
      });
    };

    setShown(before => ({ ...before, isStale: before.pages !== undefined, isReading: false, fresh: NONE }));
    const poll = new Poll(A_LIST, async () => {
      const known = pages;
      const result = await inTurn(() => (pages ? refresh(pages, read) : readOn([], read)));
      if (abort.signal.aborted) return "over";
      const news = known && result.changed ? difference(ordersOf(known), ordersOf(result.pages)) : undefined;
      accept(result, new Set([...(news?.added ?? []), ...(news?.changed ?? [])]));
      if (news) tellNews(news, result.pages);
      if (result.problem) return result.problem.status === 401 ? "over" : "failed";
      return result.changed ? "changed" : "unchanged";
    });
    let isReading = false;
    more.current = () => {
      if (isReading) return;
      isReading = true;
      setShown(before => ({ ...before, isReading: true }));
      void inTurn(async () => {
        const count = ordersOf(pages ?? []).length;
        const result = await readOn(pages ?? [], read);
        isReading = false;
        accept(result, NONE, true);
        const found = ordersOf(result.pages).length - count;
        if (!abort.signal.aborted && !result.problem) announce(found === 1 ? "1 more order" : `${found} more orders`);
        return result;
      });
    };
    return () => {
      abort.abort();
      poll.stop();
    };
  }, [client, consumer, status, words, since]);

  useEffect(() => {
    if (shown.fresh.size === 0) return;
    const timer = setTimeout(() => setShown(before => ({ ...before, fresh: NONE })), FRESH_FOR);
    return () => clearTimeout(timer);
  }, [shown.fresh]);

  return { ...shown, more: () => more.current() };
}

function tellNews({ added, changed }: { added: string[]; changed: string[] }, pages: Page[]): void {
  const orders = new Map(ordersOf(pages).map(order => [order.orderId, order]));
  const texts = added.length === 1 ? [`New order ${added[0]}`] : added.length > 1 ? [`${added.length} new orders`] : [];
  if (changed.length > 3) texts.push(`${changed.length} orders changed`);
  else {
    for (const id of changed) {
      const status = orders.get(id)?.status;
      texts.push(`Order ${id} changed${status ? `: ${orderStanding(status).text}` : ""}`);
    }
  }
  if (texts.length > 0) announce(texts.join(". "));
}

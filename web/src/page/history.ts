// A list of orders as a chain of pages. The `startKey` of a page is the start of the next one.
import type { ApiResponse, Problem } from "../api/response";
import type { OrderEntry, OrderHistory } from "../api/schema";

export interface Page {
  /** The start key of this page; the first page has none. */
  key?: string;
  etag?: string;
  orders: OrderEntry[];
  /** The start key of the next page. The list ends only if it is missing. */
  next?: string;
}

export type ReadPage = (startKey: string | undefined, etag: string | undefined) => Promise<ApiResponse<OrderHistory>>;

export type Read = { pages: Page[]; changed: boolean; problem?: Problem };

/** Reading through short pages stops after this many orders, or this many requests. */
const ENOUGH_ORDERS = 10;
const MOST_REQUESTS = 5;
/** Pages after these are refreshed only if an earlier page has changed its end. */
const LIVE_PAGES = 5;

/** Reads further pages. A page may be short or empty although there are more, so it may read several. */
export async function readOn(pages: readonly Page[], read: ReadPage): Promise<Read> {
  const all = [...pages];
  let found = 0;
  for (let requests = 0; requests < MOST_REQUESTS && found < ENOUGH_ORDERS; requests += 1) {
    const last = all.at(-1);
    if (last && last.next === undefined) break;
    const response = await read(last?.next, undefined);
    if (response.kind === "problem")
      return { pages: all, changed: all.length > pages.length, problem: response.problem };
    if (response.kind === "unchanged") break;
    const page = toPage(last?.next, response);
    all.push(page);
    found += page.orders.length;
  }
  return { pages: all, changed: all.length > pages.length };
}

/**
 * Reads every page again, with its ETag. If a page has a new end, the next page is read from there, so that no order is missed between
 * two pages.
 */
export async function refresh(pages: readonly Page[], read: ReadPage): Promise<Read> {
  const fresh: Page[] = [];
  let key: string | undefined;
  let changed = false;
  for (const [index, page] of pages.entries()) {
    const same = page.key === key;
    if (same && index >= LIVE_PAGES) {
      fresh.push(...pages.slice(index));
      break;
    }
    const response = await read(key, same ? page.etag : undefined);
    if (response.kind === "problem") return { pages: [...pages], changed: false, problem: response.problem };
    const current = response.kind === "unchanged" ? page : toPage(key, response);
    changed ||= current !== page;
    fresh.push(current);
    key = current.next;
    if (key === undefined) {
      changed ||= index < pages.length - 1;
      break;
    }
  }
  return { pages: fresh, changed };
}

/** All orders of the chain, each once. */
export function ordersOf(pages: readonly Page[]): OrderEntry[] {
  const seen = new Set<string>();
  return pages.flatMap(page => page.orders).filter(({ orderId }) => !seen.has(orderId) && seen.add(orderId));
}

export function hasMore(pages: readonly Page[]): boolean {
  return pages.at(-1)?.next !== undefined;
}

export interface Difference {
  added: string[];
  changed: string[];
}

/** The orders that a refresh added or changed. They are announced and highlighted. */
export function difference(before: readonly OrderEntry[], after: readonly OrderEntry[]): Difference {
  const known = new Map(before.map(order => [order.orderId, JSON.stringify(order)]));
  const added = after.filter(({ orderId }) => !known.has(orderId));
  const changed = after.filter(order => known.has(order.orderId) && known.get(order.orderId) !== JSON.stringify(order));
  return { added: added.map(({ orderId }) => orderId), changed: changed.map(({ orderId }) => orderId) };
}

function toPage(key: string | undefined, response: { value: OrderHistory; etag?: string }): Page {
  const { orders, startKey } = response.value;
  return {
    orders,
    ...(key === undefined ? {} : { key }),
    ...(response.etag === undefined ? {} : { etag: response.etag }),
    ...(startKey === undefined ? {} : { next: startKey }),
  };
}

// The route is the part of the address after `#`, so that the server needs no route for it.
import { dayBefore, startOfDay } from "./time";

/** The filter of the list. An empty text does not filter. */
export interface Filter {
  consumer: string;
  status: string;
  words: string;
  /** A local day; empty: from the beginning; undefined: the last 30 days. */
  since?: string;
}

export type Route = { name: "orders"; filter: Filter } | { name: "order"; orderId: string } | { name: "unknown" };

export const NO_FILTER: Filter = { consumer: "", status: "", words: "" };
const DEFAULT_DAYS = 30;
const FROM_THE_BEGINNING = "any";

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split(/\?(.*)/s);
  if (path === "" || path === "/") return { name: "orders", filter: parseFilter(new URLSearchParams(query)) };
  const order = /^\/orders\/([^/]+)$/.exec(path)?.[1];
  const orderId = order && decode(order);
  return orderId ? { name: "order", orderId } : { name: "unknown" };
}

export function orderHash(orderId: string): string {
  return `#/orders/${encodeURIComponent(orderId)}`;
}

export function ordersHash(filter: Filter): string {
  const query = new URLSearchParams();
  if (filter.consumer) query.set("consumer", filter.consumer);
  if (filter.status) query.set("status", filter.status);
  if (filter.words.trim()) query.set("words", filter.words.trim());
  if (filter.since !== undefined) query.set("since", filter.since || FROM_THE_BEGINNING);
  const text = query.toString();
  return text ? `#/?${text}` : "#/";
}

/** The value of the date field. */
export function sinceDay(filter: Filter, now: number): string {
  return filter.since ?? dayBefore(now, DEFAULT_DAYS);
}

/** The API's parameter: the start of the day, so that the request and its ETag stay the same all day. */
export function sinceParameter(filter: Filter, now: number): string {
  return startOfDay(sinceDay(filter, now)) ?? "0";
}

export function hasConditions(filter: Filter): boolean {
  return filter.status !== "" || filter.words !== "" || filter.since !== undefined;
}

function parseFilter(query: URLSearchParams): Filter {
  const get = (name: string) => query.get(name) ?? "";
  const filter: Filter = { consumer: get("consumer"), status: get("status"), words: get("words") };
  const since = get("since");
  if (since === FROM_THE_BEGINNING) filter.since = "";
  else if (startOfDay(since)) filter.since = since;
  return filter;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

// Opens a list, and remembers the last one.
import { type Filter, NO_FILTER, ordersHash } from "./route";

const LIST = "ftgo.list";

/** Another list gets its own entry in the browser's history. */
export function show(filter: Filter): void {
  const hash = ordersHash(filter);
  if (hash !== location.hash) location.hash = hash;
}

export function remember(filter: Filter): void {
  sessionStorage.setItem(LIST, ordersHash(filter));
}

/** The address of the last list. */
export function back(): string {
  return sessionStorage.getItem(LIST) ?? ordersHash(NO_FILTER);
}

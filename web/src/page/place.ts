// The way to a list, and back to the one that the user saw last.
import { type Filter, NO_FILTER, ordersHash } from "./route";

const LIST = "ftgo.list";

/** Another list is another place: the browser's own way back knows it. */
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

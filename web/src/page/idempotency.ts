// One random key for each intention of the user. It is stored before it is sent, so that a second click, a reload, or a retry after
// an unclear failure sends the same key, and the service executes the command once.
import type { ApiResponse } from "../api/response";

/** The part of `Storage` that is used. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Keys {
  constructor(
    private readonly store: Store,
    private readonly random: () => string = () => crypto.randomUUID(),
  ) {}

  /** The key of an intention. Different intentions must have different texts. */
  keyFor(intention: string): string {
    const name = nameOf(intention);
    const known = this.store.getItem(name);
    if (known) return known;
    const key = this.random();
    this.store.setItem(name, key);
    return key;
  }

  /** Call after a definite response: the next intention with this text gets a new key. */
  settle(intention: string): void {
    this.store.removeItem(nameOf(intention));
  }
}

const UNCLEAR = ["idempotency-key-in-progress", "conflict", "unavailable", "internal-error", "unauthenticated"];

/**
 * Whether the result of the command is known. It is not if there was no response, if the server failed, or if an earlier request with the
 * same key may still be in progress. A request that was throttled or had no valid token did nothing, and keeps its key.
 */
export function isDefinite(response: ApiResponse<unknown>): boolean {
  if (response.kind !== "problem") return true;
  const { status, type } = response.problem;
  if (status === 0 || status >= 500 || status === 401 || status === 408 || status === 429) return false;
  return !UNCLEAR.some(name => type?.endsWith(`:${name}`));
}

function nameOf(intention: string): string {
  return `ftgo.key.${intention}`;
}

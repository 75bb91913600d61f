// One random key for each thing that the user wants. It is stored before it is sent, so that a second click, a reload, or a retry after
// an unclear failure sends the same key, and the service carries out the command once.
import type { Answer } from "../api/answer";

/** What sessionStorage offers, and all that is needed of it. */
export type Store = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Keys {
  constructor(
    private readonly store: Store,
    private readonly random: () => string = () => crypto.randomUUID(),
  ) {}

  /** The key of an intention: a text that is the same for the same intention, and another for another. */
  keyFor(intention: string): string {
    const name = nameOf(intention);
    const known = this.store.getItem(name);
    if (known) return known;
    const key = this.random();
    this.store.setItem(name, key);
    return key;
  }

  /** After a definite answer: the next intention of that kind is a new one. */
  settle(intention: string): void {
    this.store.removeItem(nameOf(intention));
  }
}

const UNCLEAR = ["idempotency-key-in-progress", "conflict", "unavailable", "internal-error", "unauthenticated"];

/**
 * Whether the answer says what became of the command. It does not if there was none, if the server failed, or if a first request
 * under the same key may still be at work. A request that was throttled or lacked a token did nothing, and keeps its key.
 */
export function isDefinite(answer: Answer<unknown>): boolean {
  if (answer.kind !== "problem") return true;
  const { status, type } = answer.problem;
  if (status === 0 || status >= 500 || status === 401 || status === 408 || status === 429) return false;
  return !UNCLEAR.some(name => type?.endsWith(`:${name}`));
}

function nameOf(intention: string): string {
  return `ftgo.key.${intention}`;
}

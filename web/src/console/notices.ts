// Notices about actions: a failure stays until it is dismissed, a success until the next notice.

export interface Notice {
  id: number;
  mood: "good" | "bad";
  text: string;
}

/** The most notices. A further one removes the oldest. */
const MOST = 4;

export function withNotice(notices: Notice[], mood: Notice["mood"], text: string): Notice[] {
  const id = 1 + Math.max(0, ...notices.map(notice => notice.id));
  const kept = notices.filter(notice => notice.mood === "bad" && notice.text !== text);
  return [...kept, { id, mood, text }].slice(-MOST);
}

export function withoutNotice(notices: Notice[], id: number): Notice[] {
  return notices.filter(notice => notice.id !== id);
}

/** "Redrive failed: …", with one full stop at the end. */
export function failure(what: string, error: unknown): string {
  return sentence(
    `${what} failed: ${error instanceof Error && error.message !== "" ? error.message : "unknown reason"}`,
  );
}

/** Adds a capital letter and a full stop, which the API's messages do not have. */
export function sentence(message: string): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

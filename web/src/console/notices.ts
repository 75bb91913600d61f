// What the console tells about actions: failures stay until they are dismissed, a success until the next one.

export interface Notice {
  id: number;
  mood: "good" | "bad";
  text: string;
}

/** More failures than these push out the oldest. */
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

/** With a capital letter and a full stop, as the API's messages do not have them. */
export function sentence(message: string): string {
  const begun = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}

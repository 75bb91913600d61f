// Computes what the shuffle's picture shows from the API's response. No components here.
import type { Aggregate, Lane, LaneMessage, Outcome, Shuffle, StoryEvent } from "./api";
import { sentence } from "./notices";

/** In display order: the pieces that the order service writes, then kitchen, delivery and payment. */
const PIECES = [
  "details",
  "state",
  "total",
  "address",
  "revisions",
  "ticket",
  "promise",
  "delivery",
  "schedule",
  "location",
  "payment",
  "timeline",
];

const OUTCOMES: Outcome[] = ["written", "late", "no news"];

export interface Service {
  name: string;
  className: string;
}

export const SERVICES: Record<Aggregate, Service> = {
  Order: { name: "Order", className: "order" },
  Ticket: { name: "Kitchen", className: "kitchen" },
  Delivery: { name: "Delivery", className: "delivery" },
  PaymentIntent: { name: "Payment", className: "payment" },
};

/** The service that publishes an event type, by the type's first word. */
export function serviceOf(eventType: string): Service | undefined {
  const aggregate = (Object.keys(SERVICES) as Aggregate[]).find(name => eventType.startsWith(name));
  return aggregate && SERVICES[aggregate];
}

/** "PaymentIntentChargeRequested" is "Payment charge requested". */
export function shortType(eventType: string): string {
  const words = eventType.replace(/^PaymentIntent/, "Payment").split(/(?<=[a-z])(?=[A-Z])/);
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(" ");
}

/** A number for each outcome. */
export type Tally = Record<Outcome, number>;

export function tally(messages: LaneMessage[], piece?: string): Tally {
  const sums: Tally = { written: 0, late: 0, "no news": 0 };
  for (const message of messages) {
    for (const { piece: touched, outcome } of message.outcomes ?? []) {
      if (piece === undefined || touched === piece) sums[outcome] += 1;
    }
  }
  return sums;
}

/** The tally as words, for a screen reader: "3 written, 1 late". Empty if there is none. */
export function tallyText(sums: Tally): string {
  return OUTCOMES.filter(outcome => sums[outcome] > 0)
    .map(outcome => `${sums[outcome]} ${outcome}`)
    .join(", ");
}

export interface Row {
  piece: string;
  cells: [Cell, Cell];
  /** Whether both lanes have the same value; undefined while both are empty. */
  same?: boolean;
}

export interface Cell {
  /** Index in the story. */
  event?: number;
  value: string;
  tally: Tally;
}

/** A row for each piece that the story writes or an item has. */
export function rows(shuffle: Shuffle): Row[] {
  const [left, right] = shuffle.lanes;
  const names = new Set([
    ...shuffle.story.flatMap(event => event.pieces),
    ...shuffle.lanes.flatMap(lane => lane.pieces.map(({ piece }) => piece)),
  ]);
  const known = PIECES.filter(piece => names.has(piece));
  const others = [...names].filter(piece => !PIECES.includes(piece));
  return [...known, ...others].map(piece => {
    const cells: [Cell, Cell] = [cell(left, piece), cell(right, piece)];
    const [a, b] = cells;
    if (isEmpty(a) && isEmpty(b)) return { piece, cells };
    return { piece, cells, same: a.event === b.event && a.value === b.value };
  });
}

export function isEmpty(cell: Cell): boolean {
  return cell.event === undefined && cell.value === "";
}

function cell(lane: Lane, piece: string): Cell {
  const held = lane.pieces.find(candidate => candidate.piece === piece);
  const counts = tally(lane.messages, piece);
  if (held === undefined) return { value: "", tally: counts };
  const { event, value } = held;
  return event === undefined ? { value, tally: counts } : { event, value, tally: counts };
}

/** The event at an index, or a placeholder if the story lacks it. */
export function eventAt(shuffle: Shuffle, index: number): StoryEvent {
  return shuffle.story[index] ?? { eventType: "Unknown", aggregate: "Order", pieces: [] };
}

/** The number of the lane's messages that are done. */
export function done(lane: Lane): number {
  return lane.messages.filter(message => message.state === "done").length;
}

/** The text about functions that were killed with a message; undefined if none was. */
export function killedText(message: LaneMessage): string | undefined {
  const kills = Math.max(message.kills ?? 0, message.state === "killed" ? 1 : 0);
  if (kills === 0) return undefined;
  const times = kills === 1 ? "" : ` ${kills} times`;
  const again = message.state === "done" ? "delivered" : "delivers";
  return `The function was killed${times}. The queue ${again} the message again.`;
}

export interface Verdict {
  mood: "busy" | "good" | "bad";
  text: string;
}

export function verdict(shuffle: Shuffle): Verdict {
  if (shuffle.error !== undefined) return { mood: "bad", text: sentence(`The shuffle failed: ${shuffle.error}`) };
  if (shuffle.running) return { mood: "busy", text: "Not equal yet" };
  if (shuffle.equal === true) return { mood: "good", text: "Both orders are equal" };
  if (shuffle.equal === false)
    return { mood: "bad", text: "The orders differ. This is a bug: please report the seed." };
  return { mood: "bad", text: "The shuffle ended without a result." };
}

const ROUTE = /^#\/shuffles\/([^/]+)$/;

/** The id of the shuffle in the address, so that a reload shows it again. */
export function shuffleInHash(hash: string): string | undefined {
  const encoded = ROUTE.exec(hash)?.[1];
  if (encoded === undefined) return undefined;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

export function hashOfShuffle(id: string): string {
  return `#/shuffles/${encodeURIComponent(id)}`;
}

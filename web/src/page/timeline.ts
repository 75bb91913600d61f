// The timeline of an order as lanes, one for each service, with the times between steps.
import type { TimelineEntry } from "../api/schema";

export type Lane = "order" | "kitchen" | "delivery" | "payment";

export const LANES: { lane: Lane; name: string }[] = [
  { lane: "order", name: "Order" },
  { lane: "kitchen", name: "Kitchen" },
  { lane: "delivery", name: "Delivery" },
  { lane: "payment", name: "Payment" },
];

export interface Step {
  eventId: string;
  lane: Lane;
  text: string;
  at: string;
  /** Milliseconds since the step before, in any lane. */
  sincePrevious?: number;
  /** The step before in the same lane, and how many milliseconds ago, if another lane's step lies between. */
  after?: { text: string; milliseconds: number };
}

/** The line of a lane, from its first step to its last, as indexes of steps. */
export interface Rail {
  lane: Lane;
  first: number;
  last: number;
}

const TEXTS: Record<TimelineEntry["type"], string> = {
  OrderCreated: "Order placed",
  OrderAuthorized: "Order approved",
  OrderRejected: "Order rejected",
  OrderCancelled: "Order cancelled",
  OrderRevisionProposed: "Change requested",
  OrderRevised: "Order changed",
  TicketCreated: "Sent to the kitchen",
  TicketAccepted: "Kitchen accepted",
  TicketPreparationStarted: "Cooking started",
  TicketPreparationCompleted: "Food is ready",
  TicketPickedUp: "Food left the kitchen",
  TicketCancelled: "Kitchen cancelled",
  DeliveryScheduled: "Courier booked",
  DeliveryPickedUp: "Courier picked up the food",
  DeliveryLocationUpdated: "Courier location updated",
  DeliveryDelivered: "Delivered",
  PaymentIntentChargeRequested: "Payment requested",
  PaymentIntentCharged: "Paid",
  PaymentIntentChargeFailed: "Payment failed",
};

/** The steps in order of time. Entries are sorted by event id, which is the order of time unless clocks differ. */
export function steps(timeline: readonly TimelineEntry[]): Step[] {
  const lastOfLane = new Map<Lane, number>();
  let previous: number | undefined;
  return timeline.map((entry, index) => {
    const lane = laneOf(entry.type);
    const at = Date.parse(entry.at);
    const before = lastOfLane.get(lane);
    const beforeAt = before === undefined ? Number.NaN : Date.parse(timeline[before]?.at ?? "");
    const step: Step = { eventId: entry.eventId, lane, text: textOf(entry.type), at: entry.at };
    if (previous !== undefined && at >= previous) step.sincePrevious = at - previous;
    if (before !== undefined && before < index - 1 && at >= beforeAt) {
      step.after = { text: textOf(timeline[before]?.type ?? ""), milliseconds: at - beforeAt };
    }
    lastOfLane.set(lane, index);
    if (!Number.isNaN(at)) previous = at;
    return step;
  });
}

/** Lanes with at least two steps have a line. */
export function rails(steps: readonly Step[]): Rail[] {
  const rails: Rail[] = [];
  for (const { lane } of LANES) {
    const first = steps.findIndex(step => step.lane === lane);
    const last = steps.findLastIndex(step => step.lane === lane);
    if (first < last) rails.push({ lane, first, last });
  }
  return rails;
}

/** How long a lane took from its first step to its last. */
export function laneDuration(steps: readonly Step[], lane: Lane): number | undefined {
  const own = steps.filter(step => step.lane === lane);
  const [first, last] = [own[0], own.at(-1)];
  const duration = first && last && own.length > 1 ? Date.parse(last.at) - Date.parse(first.at) : Number.NaN;
  return duration >= 0 ? duration : undefined;
}

/** How much space a pause takes, in pixels: it grows with its logarithm, so that seconds and days fit on one page. */
export function pauseHeight(milliseconds: number): number {
  const seconds = Math.max(0, milliseconds) / 1000;
  return Math.round(Math.min(64, 20 + 4.5 * Math.log2(1 + seconds / 20)));
}

/** The lane of an event type, also of an unknown one, by its first word. */
export function laneOf(type: string): Lane {
  if (type.startsWith("Ticket")) return "kitchen";
  if (type.startsWith("Delivery")) return "delivery";
  if (type.startsWith("Payment")) return "payment";
  return "order";
}

export function textOf(type: string): string {
  return Object.hasOwn(TEXTS, type) ? TEXTS[type as TimelineEntry["type"]] : type;
}

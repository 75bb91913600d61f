import assert from "node:assert/strict";
import { test } from "node:test";
import openapi from "../../../crates/order-history/query-api/openapi.json";
import type { TimelineEntry } from "../../src/api/schema";
import { laneDuration, laneOf, pauseHeight, rails, steps, textOf } from "../../src/page/timeline";

function entries(...told: [type: string, minute: number][]): TimelineEntry[] {
  return told.map(([type, minute], index) => ({
    eventId: String(index),
    type: type as TimelineEntry["type"],
    at: new Date(Date.UTC(2026, 10, 18, 12, minute)).toISOString(),
  }));
}

const MINUTE = 60_000;
const STORY = entries(
  ["OrderCreated", 0],
  ["TicketCreated", 1],
  ["TicketAccepted", 3],
  ["OrderRevised", 4],
  ["TicketPreparationStarted", 9],
  ["DeliveryScheduled", 10],
);

test("each step has its lane and the time since the previous step", () => {
  const all = steps(STORY);
  assert.deepEqual(
    all.map(({ lane }) => lane),
    ["order", "kitchen", "kitchen", "order", "kitchen", "delivery"],
  );
  assert.deepEqual(
    all.map(({ sincePrevious }) => sincePrevious),
    [undefined, 1, 2, 1, 5, 1].map(minutes => minutes && minutes * MINUTE),
  );
});

test("a step has the time in its lane only if other lanes' steps are between", () => {
  assert.deepEqual(
    steps(STORY).map(({ after }) => after),
    [
      undefined,
      undefined,
      undefined,
      { text: "Order placed", milliseconds: 4 * MINUTE },
      { text: "Kitchen accepted", milliseconds: 6 * MINUTE },
      undefined,
    ],
  );
});

test("a lane's line goes from its first step to its last", () => {
  assert.deepEqual(rails(steps(STORY)), [
    { lane: "order", first: 0, last: 3 },
    { lane: "kitchen", first: 1, last: 4 },
  ]);
  assert.equal(laneDuration(steps(STORY), "kitchen"), 8 * MINUTE);
  assert.equal(laneDuration(steps(STORY), "delivery"), undefined);
});

test("different clocks give no negative times", () => {
  const [, second] = steps(entries(["OrderCreated", 5], ["TicketCreated", 4]));
  assert.equal(second?.sincePrevious, undefined);
});

test("a longer pause is never smaller, and none is larger than a part of a page", () => {
  const pauses = [0, 500, MINUTE, 60 * MINUTE, 24 * 60 * MINUTE, 1e12].map(pauseHeight);
  assert.deepEqual(
    pauses,
    pauses.toSorted((a, b) => a - b),
  );
  assert.ok(pauses.every(height => height >= 20 && height <= 64));
});

test("every type of the contract has its own text and a lane", () => {
  const types = openapi.components.schemas.TimelineEntry.properties.type.enum;
  const texts = types.map(textOf);
  assert.equal(new Set(texts).size, types.length);
  for (const [index, type] of types.entries()) assert.notEqual(texts[index], type);
});

test("an unknown type is shown unchanged, in the lane of its first word", () => {
  for (const [type, lane] of [
    ["TicketBurnt", "kitchen"],
    ["DeliveryLost", "delivery"],
    ["PaymentIntentRefunded", "payment"],
    ["OrderTeleported", "order"],
    ["toString", "order"],
  ] as const) {
    assert.equal(laneOf(type), lane);
    assert.equal(textOf(type), type);
  }
});

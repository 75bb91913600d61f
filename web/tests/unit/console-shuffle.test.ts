import assert from "node:assert/strict";
import { test } from "node:test";
import type { LaneMessage, Shuffle } from "../../src/console/api";
import {
  done,
  eventAt,
  hashOfShuffle,
  killedText,
  rows,
  serviceOf,
  shortType,
  shuffleInHash,
  tally,
  tallyText,
  verdict,
} from "../../src/console/shuffle";

function shuffle(parts: Partial<Shuffle> = {}): Shuffle {
  return {
    id: "1",
    seed: 7,
    running: true,
    story: [
      { eventType: "OrderCreated", aggregate: "Order", pieces: ["details", "state", "timeline"] },
      { eventType: "OrderAuthorized", aggregate: "Order", pieces: ["state", "timeline"] },
    ],
    lanes: [
      { name: "in order", orderId: "1", messages: [], pieces: [] },
      { name: "shuffled", orderId: "2", messages: [], pieces: [] },
    ],
    ...parts,
  };
}

function message(event: number, parts: Partial<LaneMessage> = {}): LaneMessage {
  return { event, copy: 1, state: "waiting", ...parts };
}

test("an event type is written as words", () => {
  assert.equal(shortType("OrderCreated"), "Order created");
  assert.equal(shortType("PaymentIntentChargeRequested"), "Payment charge requested");
  assert.equal(shortType("Unknown"), "Unknown");
});

test("an event type belongs to a service", () => {
  assert.equal(serviceOf("TicketAccepted")?.name, "Kitchen");
  assert.equal(serviceOf("PaymentIntentCharged")?.name, "Payment");
  assert.equal(serviceOf("cannot be read"), undefined);
});

test("there is a row for every piece of the story, in display order, before any is written", () => {
  assert.deepEqual(
    rows(shuffle()).map(row => [row.piece, row.same]),
    [
      ["details", undefined],
      ["state", undefined],
      ["timeline", undefined],
    ],
  );
});

test("an unknown piece gets the last row", () => {
  const newer = shuffle();
  newer.lanes[1].pieces = [{ piece: "mood", event: 0, value: "good" }];
  assert.deepEqual(
    rows(newer).map(row => row.piece),
    ["details", "state", "timeline", "mood"],
  );
});

test("pieces are the same if they have the same event and value", () => {
  const both = shuffle();
  const [left, right] = both.lanes;
  const same = () => rows(both).find(row => row.piece === "state")?.same;
  left.pieces = [{ piece: "state", event: 1, value: "APPROVED" }];
  assert.equal(same(), false, "one is empty");
  right.pieces = [{ piece: "state", event: 0, value: "APPROVED" }];
  assert.equal(same(), false, "another event");
  right.pieces = [{ piece: "state", event: 1, value: "REJECTED" }];
  assert.equal(same(), false, "another value");
  right.pieces = [{ piece: "state", event: 1, value: "APPROVED" }];
  assert.equal(same(), true);
});

test("a cell counts the outcomes of the messages that touched the piece", () => {
  const late = shuffle();
  late.lanes[1].messages = [
    message(1, { state: "done", outcomes: [{ piece: "state", outcome: "written" }] }),
    message(1, { state: "done", copy: 2, outcomes: [{ piece: "state", outcome: "no news" }] }),
    message(0, {
      state: "done",
      outcomes: [
        { piece: "details", outcome: "written" },
        { piece: "state", outcome: "late" },
      ],
    }),
    message(0),
  ];
  const [, cell] = rows(late).find(row => row.piece === "state")?.cells ?? assert.fail();
  assert.deepEqual(cell.tally, { written: 1, late: 1, "no news": 1 });
  assert.equal(tallyText(cell.tally), "1 written, 1 late, 1 no news");
  assert.deepEqual(tally(late.lanes[1].messages), { written: 2, late: 1, "no news": 1 });
  assert.equal(tallyText(tally([])), "");
  assert.equal(done(late.lanes[1]), 3);
});

test("a message shows how often its function was killed, also after it was processed", () => {
  assert.equal(killedText(message(0)), undefined);
  const [now, later] = ["The queue delivers the message again.", "The queue delivered the message again."];
  assert.equal(killedText(message(0, { state: "killed" })), `The function was killed. ${now}`);
  assert.equal(killedText(message(0, { state: "sent", kills: 1 })), `The function was killed. ${now}`);
  assert.equal(killedText(message(0, { state: "done", kills: 1 })), `The function was killed. ${later}`);
  assert.equal(killedText(message(0, { state: "done", kills: 2 })), `The function was killed 2 times. ${later}`);
});

test("the verdict is equal only when the system reports it", () => {
  const check = (parts: Partial<Shuffle>, mood: string, text: RegExp) => {
    const found = verdict(shuffle(parts));
    assert.equal(found.mood, mood);
    assert.match(found.text, text);
  };
  check({}, "busy", /^Not equal yet$/);
  check({ running: false, equal: true }, "good", /^Both orders are equal$/);
  check({ running: false, equal: false }, "bad", /differ/);
  check({ running: false }, "bad", /without a result/);
  check({ running: false, equal: true, error: "no queue" }, "bad", /failed: no queue/);
});

test("the address contains the shuffle's id, with any characters", () => {
  for (const id of ["1", "a/b c", "ü#?%"]) assert.equal(shuffleInHash(hashOfShuffle(id)), id);
  for (const hash of ["", "#queues", "#/shuffles/", "#/shuffles/%E0%A4%A", "#/shuffles/a/b"]) {
    assert.equal(shuffleInHash(hash), undefined);
  }
});

test("an event that is missing in the story does not break the picture", () => {
  assert.equal(eventAt(shuffle(), 99).eventType, "Unknown");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { ONE_ORDER, type Outcome, Poll, pause, type Surroundings } from "../../src/polling";

/** A browser with a manual clock: the test fires the timer. */
class Stage implements Surroundings {
  isShown = true;
  timer: { call: () => void; milliseconds: number } | undefined;
  #listener: () => void = () => undefined;

  setTimer(call: () => void, milliseconds: number): number {
    this.timer = { call, milliseconds };
    return 1;
  }
  clearTimer(): void {
    this.timer = undefined;
  }
  isVisible(): boolean {
    return this.isShown;
  }
  onVisibility(call: () => void): () => void {
    this.#listener = call;
    return () => {
      this.#listener = () => undefined;
    };
  }
  show(isShown: boolean): void {
    this.isShown = isShown;
    this.#listener();
  }
  async fire(): Promise<void> {
    assert.ok(this.timer, "a request is planned");
    this.timer.call();
    await settled();
  }
}

const settled = () => new Promise(resolve => setImmediate(resolve));

function start(outcomes: Outcome[]) {
  const stage = new Stage();
  let requests = 0;
  const poll = new Poll(ONE_ORDER, async () => outcomes[requests++] ?? "unchanged", stage);
  return { stage, poll, requests: () => requests };
}

test("the pause grows while nothing changes, and stays within its limits", () => {
  const pauses = Array.from({ length: 40 }, (_, unchanged) => pause(ONE_ORDER, unchanged, 0));
  assert.equal(pauses[0], 2_000);
  assert.equal(pauses[5], 2_000);
  assert.equal(pauses[39], 10_000);
  assert.ok(pauses.every((wait, index) => index === 0 || wait >= (pauses[index - 1] ?? 0)));
});

test("failures double the pause, up to half a minute", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 99].map(failures => pause(ONE_ORDER, 0, failures)),
    [4_000, 8_000, 16_000, 30_000, 30_000],
  );
});

test("it polls at once, and again after the pause", async () => {
  const { stage, requests } = start(["changed", "failed", "changed"]);
  await settled();
  assert.equal(requests(), 1);
  assert.equal(stage.timer?.milliseconds, 2_000);
  await stage.fire();
  assert.equal(stage.timer?.milliseconds, 4_000);
  await stage.fire();
  assert.equal(stage.timer?.milliseconds, 2_000);
});

test("it does not poll while the page is hidden, and polls at once when it is visible again", async () => {
  const { stage, requests } = start([]);
  await settled();
  stage.show(false);
  assert.equal(stage.timer, undefined);
  stage.show(true);
  await settled();
  assert.equal(requests(), 2);
});

test("an action of the user makes the pauses short again", async () => {
  const { stage, poll, requests } = start([]);
  await settled();
  for (let count = 0; count < 20; count += 1) await stage.fire();
  assert.equal(stage.timer?.milliseconds, 10_000);
  poll.hurry();
  await settled();
  assert.equal(requests(), 22);
  assert.equal(stage.timer?.milliseconds, 2_000);
});

test("a request that is wanted during another one follows it", async () => {
  let finish: (outcome: Outcome) => void = () => undefined;
  let requests = 0;
  const poll = new Poll(
    ONE_ORDER,
    () => {
      requests += 1;
      return new Promise<Outcome>(resolve => {
        finish = resolve;
      });
    },
    new Stage(),
  );
  poll.hurry();
  poll.hurry();
  assert.equal(requests, 1);
  finish("unchanged");
  await settled();
  assert.equal(requests, 2);
  finish("unchanged");
  await settled();
  assert.equal(requests, 2);
});

test("an error in a request is logged, and the next request follows", async t => {
  const told = t.mock.method(console, "error", () => undefined);
  const stage = new Stage();
  let requests = 0;
  new Poll(
    ONE_ORDER,
    async () => {
      requests += 1;
      if (requests === 1) throw new Error("a fault");
      return "unchanged";
    },
    stage,
  );
  await settled();
  assert.equal(told.mock.callCount(), 1);
  assert.equal(stage.timer?.milliseconds, 4_000);
  await stage.fire();
  assert.equal(requests, 2);
  assert.equal(stage.timer?.milliseconds, 2_000);
});

test("after its end it does not poll any more", async () => {
  const { stage, poll, requests } = start(["over"]);
  await settled();
  poll.hurry();
  stage.show(true);
  await settled();
  assert.equal(requests(), 1);
  assert.equal(stage.timer, undefined);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { poll, type Visibility } from "../../src/console/poll";

class Screen extends EventTarget implements Visibility {
  hidden = false;

  turn(hidden: boolean) {
    this.hidden = hidden;
    this.dispatchEvent(new Event("visibilitychange"));
  }
}

/** A task that counts its runs; each ends when the test says so. */
class Task {
  runs = 0;
  private end: () => void = () => {};

  readonly run = () => {
    this.runs += 1;
    return new Promise<void>(resolve => {
      this.end = resolve;
    });
  };

  async finish() {
    this.end();
    await Promise.resolve();
    await Promise.resolve();
  }
}

test("it waits for the answer, then for the time, and asks again", async context => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const task = new Task();
  const stop = poll(task.run, 1000, new Screen());
  assert.equal(task.runs, 1, "at once");
  context.mock.timers.tick(5000);
  assert.equal(task.runs, 1, "one at a time");
  await task.finish();
  context.mock.timers.tick(999);
  assert.equal(task.runs, 1);
  context.mock.timers.tick(1);
  assert.equal(task.runs, 2);
  stop();
});

test("it pauses while nobody looks, and goes on at once", async context => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const [task, screen] = [new Task(), new Screen()];
  const stop = poll(task.run, 1000, screen);
  screen.turn(true);
  await task.finish();
  context.mock.timers.tick(60_000);
  assert.equal(task.runs, 1);
  screen.turn(false);
  assert.equal(task.runs, 2);
  screen.turn(true);
  screen.turn(false);
  assert.equal(task.runs, 2, "still one at a time");
  stop();
});

test("it ends for good, even in the middle of a request", async context => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const [task, screen] = [new Task(), new Screen()];
  const stop = poll(task.run, 1000, screen);
  stop();
  await task.finish();
  context.mock.timers.tick(60_000);
  screen.turn(false);
  assert.equal(task.runs, 1);
});

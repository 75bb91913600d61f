import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dayBefore,
  english,
  formatDay,
  formatDuration,
  formatMoment,
  formatRelative,
  isNewDay,
  startOfDay,
} from "../../src/page/time";

const NOW = Date.parse("2026-11-18T12:00:00Z");
const ago = (milliseconds: number) => new Date(NOW - milliseconds).toISOString();

test("a moment is shown relative to now", () => {
  for (const [milliseconds, told] of [
    [0, "now"],
    [44_000, "now"],
    [60_000, "1 minute ago"],
    [-5 * 60_000, "in 5 minutes"],
    [60 * 60_000, "1 hour ago"],
    [24 * 3_600_000, "yesterday"],
    [9 * 24 * 3_600_000, "9 days ago"],
    [100 * 24 * 3_600_000, "3 months ago"],
    [800 * 24 * 3_600_000, "2 years ago"],
  ] as const) {
    assert.equal(formatRelative(ago(milliseconds), NOW, "en-US"), told);
  }
});

test("a text that is not a time is unchanged", () => {
  assert.equal(formatRelative("soon", NOW), "soon");
  assert.equal(formatMoment("soon"), "soon");
});

test("a duration has at most two units", () => {
  for (const [milliseconds, told] of [
    [167, "167 ms"],
    [1_240, "1.2 sec"],
    [9_960, "10 sec"],
    [59_600, "1 min"],
    [61_000, "1 min 1 sec"],
    [34 * 60_000 + 20_000, "34 min"],
    [65 * 60_000, "1 hr 5 min"],
    [51 * 3_600_000, "2 days 3 hr"],
  ] as const) {
    assert.equal(formatDuration(milliseconds, "en-US"), told);
  }
});

test("a new day begins at local midnight", () => {
  assert.ok(isNewDay("2026-11-18T23:30:00Z", "2026-11-18T22:30:00Z"));
  assert.ok(!isNewDay("2026-11-18T22:30:00Z", Date.parse("2026-11-17T23:30:00Z")));
});

test("days are those of the reader's time zone", () => {
  // The tests run in Berlin, which is an hour ahead of UTC in winter and two in summer.
  assert.equal(dayBefore(Date.parse("2026-11-18T23:30:00Z"), 0), "2026-11-19");
  assert.equal(dayBefore(NOW, 30), "2026-10-19");
  assert.equal(startOfDay("2026-11-18"), "2026-11-17T23:00:00.000Z");
  assert.equal(startOfDay("2026-07-01"), "2026-06-30T22:00:00.000Z");
  assert.equal(startOfDay("18.11.2026"), undefined);
});

test("words are in the reader's English, times of day in the reader's format", () => {
  assert.equal(english(["de-DE", "en-GB", "en"]), "en-GB");
  assert.equal(english(["de-DE", "enm"]), "en");
  assert.equal(english([]), "en");
  assert.equal(formatMoment("2026-05-18T12:00:00Z", "en-GB", "de-DE"), "18 May 2026, 14:00");
  assert.equal(formatMoment("2026-10-18T12:00:00Z", "en", "de-DE"), "Oct 18, 2026, 14:00");
  assert.equal(formatDay("2026-10-18T12:00:00Z", "en"), "Oct 18");
});

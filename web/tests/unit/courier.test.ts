import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, extend, formatPlace } from "../../src/page/courier";

const place = (latitude: number, longitude: number) => ({ latitude, longitude });
const inside = (share: number) => share >= -1e-9 && share <= 1 + 1e-9;

test("the last location is in the middle, and all locations are inside", () => {
  for (const places of [
    [place(37.8044, -122.2712)],
    [place(52.5, 13.4), place(52.51, 13.42), place(52.52, 13.39)],
    [place(0, 179.999), place(0, -179.999)],
    [place(89.9, 10)],
  ]) {
    const drawing = draw(places);
    assert.ok(drawing);
    assert.deepEqual(drawing.trail.at(-1), { x: 0.5, y: 0.5 });
    assert.ok(drawing.trail.every(({ x, y }) => inside(x) && inside(y)));
    assert.ok(drawing.meridians.every(({ x }) => inside(x)));
    assert.ok(drawing.parallels.every(({ y }) => inside(y)));
    assert.ok(drawing.parallels.length >= 3 && drawing.parallels.length <= 12);
    assert.ok(drawing.scale.share > 0.05 && drawing.scale.share <= 0.25);
  }
});

test("a flat picture has the earlier locations inside too", () => {
  const [before] = draw([place(10, 10), place(10.1, 10)], 0.5)?.trail ?? [];
  assert.ok(before && before.y > 0.25 && before.y < 0.75);
});

test("north is up and east is right", () => {
  const [before] = draw([place(10, 10), place(10.001, 10.001)])?.trail ?? [];
  assert.ok(before && before.x < 0.5 && before.y > 0.5);
});

test("a trail across the date line is short", () => {
  const drawing = draw([place(0, 179.999), place(0, -179.999)]);
  assert.ok(drawing && drawing.scale.metres < 1_000);
});

test("invalid coordinates are not drawn", () => {
  assert.equal(draw([]), undefined);
  assert.equal(draw([place(Number.NaN, 1)]), undefined);
});

test("a location is shown with its directions", () => {
  assert.equal(formatPlace(place(37.8044, -122.2712), "en-US"), "37.8044° N, 122.2712° W");
  assert.equal(formatPlace(place(-33.9, 18.4), "en-US"), "33.9000° S, 18.4000° E");
});

test("the trail has each location once, and no older ones", () => {
  const at = (latitude: number, at: string) => ({ latitude, longitude: 0, at });
  const seen = extend(extend([], at(1, "a")), at(2, "b"));
  assert.equal(seen.length, 2);
  assert.equal(extend(seen, at(2, "b")), seen);
  assert.equal(extend(seen, at(5, "a")), seen);
  assert.deepEqual(extend(seen, at(2, "c")), [at(1, "a"), at(2, "c")]);
});

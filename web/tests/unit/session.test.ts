import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, isExpired, isOld } from "../../src/page/session";

const grant = (lifetime: number, scope = "openid") => ({
  accessToken: "t",
  scope,
  lifetime,
  expiresAt: lifetime * 1000,
});

test("a token is renewed before it expires: a quarter of its life, at most half a minute", () => {
  assert.ok(!isOld(grant(8), 5_900));
  assert.ok(isOld(grant(8), 6_100));
  assert.ok(!isOld(grant(3600), 3_569_000));
  assert.ok(isOld(grant(3600), 3_571_000));
});

test("a token without a lifetime is good until it is refused", () => {
  assert.ok(!isOld({ accessToken: "t", scope: "" }, Date.now()));
  assert.ok(!isExpired({ accessToken: "t", scope: "" }, Date.now()));
  assert.ok(isExpired(grant(8), 8_000));
});

test("a support person is one with the scope, not with one that looks like it", () => {
  assert.ok(describe(grant(8, "openid orders:read-any")).readsAny);
  assert.ok(!describe(grant(8, "openid orders:read-any-thing")).readsAny);
});

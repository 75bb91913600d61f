import assert from "node:assert/strict";
import { test } from "node:test";
import { SessionEnded } from "../../src/api/client";
import { nameOf } from "../../src/page/oidc";
import { describe, type Grant, isExpired, isOld, type Oidc, Session, type Surroundings } from "../../src/page/session";

const grant = (lifetime: number, scope = "openid") => ({
  accessToken: "t",
  scope,
  lifetime,
  expiresAt: lifetime * 1000,
});

test("a token is renewed before it expires: a quarter of its lifetime, at most half a minute", () => {
  assert.ok(!isOld(grant(8), 5_900));
  assert.ok(isOld(grant(8), 6_100));
  assert.ok(!isOld(grant(3600), 3_569_000));
  assert.ok(isOld(grant(3600), 3_571_000));
});

test("a token without a lifetime is valid until it is rejected", () => {
  assert.ok(!isOld({ accessToken: "t", scope: "" }, Date.now()));
  assert.ok(!isExpired({ accessToken: "t", scope: "" }, Date.now()));
  assert.ok(isExpired(grant(8), 8_000));
});

test("a support user has exactly the scope, not a similar one", () => {
  assert.ok(describe(grant(8, "openid orders:read-any")).readsAny);
  assert.ok(!describe(grant(8, "openid orders:read-any-thing")).readsAny);
});

test("the user's name is the most readable claim", () => {
  const sub = "5f0c2b9e-7d1c-4a55-9d7e-0d8f4e1a2b3c";
  assert.equal(nameOf({ sub, name: "Ada", email: "ada@example.com" }), "Ada");
  assert.equal(nameOf({ sub, name: "", email: "ada@example.com", "cognito:username": "ada" }), "ada@example.com");
  assert.equal(nameOf({ sub, "cognito:username": "ada" }), "ada");
  assert.equal(nameOf({ sub }), sub);
  assert.equal(nameOf({}), undefined);
});

const CONFIG = {
  authorization: "oidc",
  currency: "USD",
  issuer: "https://issuer.example",
  clientId: "page",
  scope: "openid",
} as const;
const HOME = "https://shop.example/history/";
const ATTEMPT = { verifier: "v", state: "s", nonce: "n" };
const HOUR = 3_600_000;
const valid = (): Grant => ({ accessToken: "old", scope: "openid", lifetime: 3600, expiresAt: Date.now() + HOUR });
const expired = (): Grant => ({ ...valid(), expiresAt: Date.now() - HOUR });

class Memory implements Storage {
  readonly #items = new Map<string, string>();
  get length(): number {
    return this.#items.size;
  }
  key(index: number): string | null {
    return [...this.#items.keys()][index] ?? null;
  }
  getItem(name: string): string | null {
    return this.#items.get(name) ?? null;
  }
  setItem(name: string, value: string): void {
    this.#items.set(name, value);
  }
  removeItem(name: string): void {
    this.#items.delete(name);
  }
  clear(): void {
    this.#items.clear();
  }
}

/** A tab with an issuer that the test controls; all other requests fail as if the issuer could not be reached. */
class Stage implements Surroundings {
  readonly tabStore = new Memory();
  readonly profileStore = new Memory();
  readonly visited: string[] = [];
  shown = HOME;
  readonly #oidc: Oidc;

  constructor(oidc: Partial<Oidc> = {}, grant?: Grant) {
    const unreachable = async () => {
      throw new TypeError("fetch failed");
    };
    const nothing = { begin: unreachable, finish: unreachable, renew: unreachable, leave: unreachable };
    this.#oidc = { ...nothing, isRefused: () => false, ...oidc };
    if (grant) this.tabStore.setItem("ftgo.session", JSON.stringify(grant));
  }

  address = () => new URL(this.shown);
  replaceAddress = (address: string) => {
    this.shown = address;
  };
  goTo = (address: URL) => {
    this.visited.push(address.href);
  };
  loadOidc = async () => this.#oidc;

  stored(): string {
    const all = [this.tabStore, this.profileStore].flatMap(store =>
      Array.from({ length: store.length }, (_, index) => store.getItem(store.key(index) ?? "")),
    );
    return all.join(" ");
  }
}

/** A promise that the test resolves. */
function later<T>() {
  let end: (value: T) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { promise, end, fail };
}

/** Hides the warnings that the test causes. */
const quietly = (name: string, run: () => Promise<void>) =>
  test(name, async t => {
    t.mock.method(console, "warn", () => undefined);
    await run();
  });

for (const [what, settle] of [
  ["succeeds", (renewal: ReturnType<typeof later<Grant>>) => renewal.end({ ...valid(), accessToken: "new" })],
  ["is refused", (renewal: ReturnType<typeof later<Grant>>) => renewal.fail(new Error("invalid_grant"))],
] as const) {
  quietly(`a user who signs out during a renewal stays signed out, also if the renewal ${what}`, async () => {
    const renewal = later<Grant>();
    const begun = later<void>();
    const stage = new Stage(
      {
        renew: () => {
          begun.end();
          return renewal.promise;
        },
        leave: async () => undefined,
        isRefused: () => true,
      },
      // About to expire: a token that is restored by mistake would still be valid.
      { ...valid(), expiresAt: Date.now() + 20_000, refreshToken: "r" },
    );
    const session = await Session.start(CONFIG, stage);
    const token = session.token();
    await begun.promise;
    await session.signOut();
    settle(renewal);
    await assert.rejects(token, SessionEnded);
    assert.deepEqual(session.state, { name: "signed-out", message: "You are signed out." });
    await assert.rejects(session.token(), SessionEnded);
    assert.doesNotMatch(stage.stored(), /accessToken/);
  });
}

test("a session that expired before the page was opened ends with the first request, and the listeners are called", async () => {
  const stage = new Stage({}, { ...expired(), name: "Ada" });
  const session = await Session.start(CONFIG, stage);
  const heard: string[] = [];
  session.subscribe(() => heard.push(session.state.name));
  await assert.rejects(session.token(), SessionEnded);
  assert.deepEqual(heard, ["ended"]);
  assert.deepEqual(session.state, { name: "ended", user: "Ada", readsAny: false });
  assert.doesNotMatch(stage.stored(), /accessToken/);
});

quietly(
  "a sign-out that does not reach the issuer is reported, and the next sign-in asks for the password",
  async () => {
    let asked: boolean | undefined;
    const stage = new Stage(
      {
        begin: async (_settings, _home, askAgain) => {
          asked = askAgain;
          return { url: new URL("https://issuer.example/authorize"), attempt: ATTEMPT };
        },
      },
      valid(),
    );
    const session = await Session.start(CONFIG, stage);
    stage.profileStore.setItem("ftgo.intent.99", "i");
    await session.signOut();
    assert.deepEqual(session.state, {
      name: "signed-out",
      message: "You are signed out here. The sign-in service could not be reached.",
    });
    assert.equal(stage.profileStore.length, 0);
    await session.signIn();
    assert.equal(asked, true);
    assert.deepEqual(stage.visited, ["https://issuer.example/authorize"]);
  },
);

test("an unexpected response of the issuer changes only the address", async () => {
  for (const query of ["?state=x&error=y", "?state=x&code=y"]) {
    const stage = new Stage({}, valid());
    stage.shown = `${HOME}${query}#/orders/99`;
    const session = await Session.start(CONFIG, stage);
    assert.deepEqual(session.state, { name: "signed-in", readsAny: false });
    assert.equal(await session.token(), "old");
    assert.equal(stage.shown, `${HOME}#/orders/99`);
  }
  const nobody = new Stage();
  nobody.shown = `${HOME}?state=x&error=y`;
  const session = await Session.start(CONFIG, nobody);
  assert.deepEqual(session.state, { name: "signed-out", message: "Sign-in failed. Please try again." });
});

quietly("an attempt to sign in accepts one response, and returns to the user's route", async () => {
  const callbacks: string[] = [];
  const stage = new Stage({
    begin: async () => ({ url: new URL("https://issuer.example/authorize"), attempt: ATTEMPT }),
    finish: async (_settings, home, callback, attempt) => {
      assert.deepEqual([home, attempt], [HOME, ATTEMPT]);
      callbacks.push(callback.href);
      return valid();
    },
  });
  stage.shown = `${HOME}#/orders/99`;
  await (await Session.start(CONFIG, stage)).signIn();
  stage.shown = `${HOME}?state=s&code=c`;
  const session = await Session.start(CONFIG, stage);
  assert.equal(session.state.name, "signed-in");
  assert.equal(stage.shown, `${HOME}#/orders/99`);
  stage.shown = `${HOME}?state=s&code=c`;
  assert.equal((await Session.start(CONFIG, stage)).state.name, "signed-in");
  assert.deepEqual(callbacks, [`${HOME}?state=s&code=c`]);
});

// The user's session. Without sign-in (on one machine) there is none; otherwise there is a token, which is kept until the tab is closed.
import { type Credentials, SessionEnded } from "../api/client";
import type { Config, SignInSettings } from "./config";
import type { Attempt } from "./oidc";

/** The tokens of the issuer. */
export interface Grant {
  accessToken: string;
  /** Scopes, separated by spaces. */
  scope: string;
  /** Milliseconds since 1970; absent if the issuer did not send it. */
  expiresAt?: number;
  /** Seconds. */
  lifetime?: number;
  refreshToken?: string;
  idToken?: string;
  /** The user's name for display. */
  name?: string;
}

export type SessionState =
  /** No sign-in: no token is needed. */
  | { name: "open" }
  /** Tokens are needed, but sign-in is not configured. */
  | { name: "not-set-up" }
  | { name: "signed-out"; message?: string }
  /** The tokens are deleted here; the sign-out at the issuer is in progress. */
  | { name: "leaving" }
  | { name: "signed-in"; user?: string; readsAny: boolean }
  /** The token has expired. The shown data stays. */
  | { name: "ended"; user?: string; readsAny: boolean };

/** The parts of the browser that a session uses. */
export interface Surroundings {
  /** Kept until the tab is closed. */
  tabStore: Storage;
  /** Kept in the browser's profile. */
  profileStore: Storage;
  address(): URL;
  /** Changes the address, and stays on the page. */
  replaceAddress(address: string): void;
  /** Leaves the page. */
  goTo(address: URL): void;
  loadOidc(): Promise<Oidc>;
}

export type Oidc = Pick<typeof import("./oidc"), "begin" | "finish" | "renew" | "leave" | "isRefused">;

const inBrowser = (): Surroundings => ({
  tabStore: sessionStorage,
  profileStore: localStorage,
  address: () => new URL(location.href),
  replaceAddress: address => history.replaceState(null, "", address),
  goTo: address => location.assign(address),
  loadOidc: () => import("./oidc"),
});

const GRANT = "ftgo.session";
/** Set while the user is at the issuer to sign in. */
const ATTEMPT = "ftgo.sign-in";
const PLACE = "ftgo.place";
/** Set after a sign-out at an issuer that cannot end its own session: the next sign-in asks for the password again. */
const ASK_AGAIN = "ftgo.ask-again";
/** Set while the user is at the issuer to end the session there. */
const LEFT = "ftgo.left";
const SIGNED_OUT = "You are signed out.";
const SIGNED_OUT_HERE = "You are signed out here. The sign-in service could not be reached.";
const FAILED = "Sign-in failed. Please try again.";
const READ_ANY = "orders:read-any";

export class Session implements Credentials {
  state: SessionState;
  private grant: Grant | undefined;
  private renewal: Promise<boolean> | undefined;
  private readonly listeners = new Set<() => void>();

  private constructor(
    private readonly settings: SignInSettings | undefined,
    private readonly surroundings: Surroundings,
    state: SessionState,
  ) {
    this.state = state;
  }

  /** Reads the tab's stored tokens, or finishes a sign-in if the address contains the issuer's response. */
  static async start(config: Config, surroundings = inBrowser()): Promise<Session> {
    if (config.authorization === "off") return new Session(undefined, surroundings, { name: "open" });
    if (config.authorization === "jwt") return new Session(undefined, surroundings, { name: "not-set-up" });
    const { tabStore } = surroundings;
    const hasLeft = take(tabStore, LEFT) !== null;
    const session = new Session(config, surroundings, {
      name: "signed-out",
      ...(hasLeft ? { message: SIGNED_OUT } : {}),
    });
    const { searchParams } = surroundings.address();
    const isCallback = searchParams.has("state") && ["code", "error"].some(name => searchParams.has(name));
    const attempt = isCallback ? parse<Attempt>(take(tabStore, ATTEMPT)) : undefined;
    if (attempt) await session.finish(attempt);
    else session.resume(isCallback);
    return session;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async signIn(): Promise<void> {
    if (!this.settings) return;
    const { tabStore, address, goTo, loadOidc } = this.surroundings;
    try {
      tabStore.setItem(PLACE, address().hash);
      const { begin } = await loadOidc();
      const { url, attempt } = await begin(this.settings, this.home(), tabStore.getItem(ASK_AGAIN) !== null);
      tabStore.setItem(ATTEMPT, JSON.stringify(attempt));
      goTo(url);
    } catch (error) {
      console.warn("sign-in:", error);
      this.become({
        name: "signed-out",
        message: "Sign-in failed: the sign-in service cannot be reached. Please try again.",
      });
    }
  }

  async signOut(): Promise<void> {
    const { settings, grant } = this;
    const { tabStore, profileStore, replaceAddress, goTo, loadOidc } = this.surroundings;
    this.accept(undefined);
    this.become({ name: "leaving" });
    for (const store of [tabStore, profileStore]) forgetUser(store);
    replaceAddress(this.home());
    let message = SIGNED_OUT;
    try {
      if (settings && grant) {
        const { leave } = await loadOidc();
        const next = await leave(settings, grant, this.home());
        tabStore.setItem(next ? LEFT : ASK_AGAIN, "yes");
        if (next) {
          goTo(next);
          return;
        }
      }
    } catch (error) {
      console.warn("sign-out:", error);
      // The issuer still has its session, and would sign in the same user again without asking for a password.
      tabStore.setItem(ASK_AGAIN, "yes");
      message = SIGNED_OUT_HERE;
    }
    this.become({ name: "signed-out", message });
  }

  async token(): Promise<string | undefined> {
    if (!this.settings) return undefined;
    if (this.grant && isOld(this.grant, Date.now()) && this.grant.refreshToken) await this.renew();
    const { grant } = this;
    if (grant && !isExpired(grant, Date.now())) return grant.accessToken;
    // The issuer did not answer. The next attempt may succeed.
    if (grant?.refreshToken) throw new Error("the token could not be renewed");
    this.end();
    throw new SessionEnded();
  }

  async refused(): Promise<boolean> {
    if (!this.settings) return false;
    if (this.grant?.refreshToken && (await this.renew())) return true;
    if (this.grant?.refreshToken) throw new Error("the token could not be renewed");
    this.end();
    return false;
  }

  end(): void {
    this.accept(undefined);
    const { state } = this;
    if (state.name === "signed-in") this.become({ ...state, name: "ended" });
  }

  /** One renewal at a time: issuers rotate refresh tokens, and using one twice may end the session. */
  private renew(): Promise<boolean> {
    this.renewal ??= this.renewOnce().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async renewOnce(): Promise<boolean> {
    const { settings, grant } = this;
    if (!settings || !grant?.refreshToken) return false;
    const { renew, isRefused } = await this.surroundings.loadOidc();
    try {
      const renewed = await renew(settings, { ...grant, refreshToken: grant.refreshToken });
      // The user signed out meanwhile.
      if (this.grant !== grant) return false;
      this.accept(renewed);
      return true;
    } catch (error) {
      console.warn("renewal:", error);
      if (this.grant === grant && isRefused(error)) {
        const { refreshToken: _, ...rest } = grant;
        this.grant = rest;
      }
      return false;
    }
  }

  private async finish(attempt: Attempt): Promise<void> {
    const { tabStore, address, replaceAddress, loadOidc } = this.surroundings;
    const callback = address();
    callback.hash = "";
    replaceAddress(this.home() + (take(tabStore, PLACE) ?? ""));
    try {
      const { finish } = await loadOidc();
      this.accept(await finish(this.settings as SignInSettings, this.home(), callback, attempt));
      tabStore.removeItem(ASK_AGAIN);
    } catch (error) {
      console.warn("sign-in:", error);
      this.accept(undefined);
      const isDenied = callback.searchParams.get("error") === "access_denied";
      this.become({ name: "signed-out", message: isDenied ? "Sign-in was cancelled." : FAILED });
    }
  }

  /** Uses the tab's stored tokens. An unexpected response of the issuer is ignored, because anybody can make such a link. */
  private resume(isAnswered: boolean): void {
    const { tabStore, address, replaceAddress } = this.surroundings;
    if (isAnswered) replaceAddress(this.home() + address().hash);
    this.accept(parse<Grant>(tabStore.getItem(GRANT)));
    if (isAnswered && !this.grant) this.become({ name: "signed-out", message: FAILED });
  }

  private accept(grant: Grant | undefined): void {
    const { tabStore } = this.surroundings;
    this.grant = grant;
    if (!grant) {
      tabStore.removeItem(GRANT);
      return;
    }
    tabStore.setItem(GRANT, JSON.stringify(grant));
    this.become({ name: "signed-in", ...describe(grant) });
  }

  /** The page's address without query and fragment: the registered redirect_uri. */
  private home(): string {
    return new URL(".", this.surroundings.address()).href;
  }

  private become(state: SessionState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

/** Whether a token has expired or should be renewed: a quarter of its lifetime before the end, at most 30 seconds. */
export function isOld({ expiresAt, lifetime = 0 }: Grant, now: number): boolean {
  return expiresAt !== undefined && now > expiresAt - Math.min(30, lifetime / 4) * 1000;
}

export function isExpired({ expiresAt }: Grant, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** A support user may see every consumer's orders. */
export function describe({ scope, name }: Grant): { readsAny: boolean; user?: string } {
  return { readsAny: scope.split(" ").includes(READ_ANY), ...(name ? { user: name } : {}) };
}

/** Removes the data of the user. */
function forgetUser(store: Storage): void {
  const names = Array.from({ length: store.length }, (_, index) => store.key(index) ?? "");
  for (const name of names) if (name.startsWith("ftgo.")) store.removeItem(name);
}

/** Reads and removes a value. */
function take(store: Storage, name: string): string | null {
  const text = store.getItem(name);
  store.removeItem(name);
  return text;
}

function parse<T>(text: string | null): T | undefined {
  try {
    return (JSON.parse(text ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

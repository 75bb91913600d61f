// Who is here: nobody needs to sign in on one machine; elsewhere there is a token, which lives as long as the tab.
import { type Credentials, SessionEnded } from "../api/client";
import type { Config, SignInSettings } from "./config";

/** What the issuer granted. */
export interface Grant {
  accessToken: string;
  /** Scopes with spaces between. */
  scope: string;
  /** Milliseconds since 1970; absent if the issuer did not say. */
  expiresAt?: number;
  /** Seconds. */
  lifetime?: number;
  refreshToken?: string;
  idToken?: string;
  /** What to call the user. */
  name?: string;
}

export type SessionState =
  /** No sign-in: everybody sees everything. */
  | { name: "open" }
  /** Tokens are needed, and this page has no way to get one. */
  | { name: "not-set-up" }
  | { name: "signed-out"; message?: string }
  /** The tokens are forgotten here; the issuer is being told. */
  | { name: "leaving" }
  | { name: "signed-in"; user?: string; readsAny: boolean }
  /** The token has expired. What is shown may stay. */
  | { name: "ended"; user?: string; readsAny: boolean };

const GRANT = "ftgo.session";
const PLACE = "ftgo.place";
/** Set after a sign-out at an issuer that cannot end its own session: the next sign-in asks for the password again. */
const ASK_AGAIN = "ftgo.ask-again";
/** Set while the user is at the issuer to end the session there. */
const LEFT = "ftgo.left";
const SIGNED_OUT = "You are signed out.";
const READ_ANY = "orders:read-any";

export class Session implements Credentials {
  state: SessionState;
  private grant: Grant | undefined;
  private renewal: Promise<boolean> | undefined;
  private readonly listeners = new Set<() => void>();

  private constructor(
    private readonly settings: SignInSettings | undefined,
    state: SessionState,
  ) {
    this.state = state;
  }

  /** Reads what the tab knows, and takes the issuer's answer if the address has one. */
  static async start(config: Config): Promise<Session> {
    if (config.authorization === "off") return new Session(undefined, { name: "open" });
    if (config.authorization === "jwt") return new Session(undefined, { name: "not-set-up" });
    const hasLeft = sessionStorage.getItem(LEFT) !== null;
    sessionStorage.removeItem(LEFT);
    const session = new Session(config, { name: "signed-out", ...(hasLeft ? { message: SIGNED_OUT } : {}) });
    const address = new URL(location.href);
    const isCallback =
      address.searchParams.has("state") && ["code", "error"].some(name => address.searchParams.has(name));
    if (isCallback) await session.finish(address);
    else session.accept(readGrant());
    return session;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  async signIn(): Promise<void> {
    if (!this.settings) return;
    try {
      sessionStorage.setItem(PLACE, location.hash);
      const { begin } = await import("./oidc");
      location.assign(await begin(this.settings, home(), sessionStorage.getItem(ASK_AGAIN) !== null));
    } catch (error) {
      console.warn("sign-in:", error);
      this.become({
        name: "signed-out",
        message: "Sign-in did not work: the sign-in service cannot be reached. Please try again.",
      });
    }
  }

  async signOut(): Promise<void> {
    const { settings, grant } = this;
    this.accept(undefined);
    this.become({ name: "leaving" });
    forgetUser();
    history.replaceState(null, "", home());
    try {
      if (settings && grant) {
        const { leave } = await import("./oidc");
        const next = await leave(settings, grant, home());
        sessionStorage.setItem(next ? LEFT : ASK_AGAIN, "yes");
        if (next) {
          location.assign(next);
          return;
        }
      }
    } catch (error) {
      console.warn("sign-out:", error);
    }
    this.become({ name: "signed-out", message: SIGNED_OUT });
  }

  async token(): Promise<string | undefined> {
    if (!this.settings) return undefined;
    if (this.grant && isOld(this.grant, Date.now()) && this.grant.refreshToken) await this.renew();
    const { grant } = this;
    if (grant && !isExpired(grant, Date.now())) return grant.accessToken;
    // The issuer did not answer. It may, next time.
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
    sessionStorage.removeItem(GRANT);
    this.grant = undefined;
    const { state } = this;
    if (state.name === "signed-in") this.become({ ...state, name: "ended" });
  }

  /** One renewal at a time: issuers rotate refresh tokens, and a second use of one may end the session. */
  private renew(): Promise<boolean> {
    this.renewal ??= this.renewOnce().finally(() => {
      this.renewal = undefined;
    });
    return this.renewal;
  }

  private async renewOnce(): Promise<boolean> {
    const { settings, grant } = this;
    if (!settings || !grant?.refreshToken) return false;
    const { renew, isRefused } = await import("./oidc");
    try {
      this.accept(await renew(settings, { ...grant, refreshToken: grant.refreshToken }));
      return true;
    } catch (error) {
      console.warn("renewal:", error);
      if (isRefused(error)) {
        const { refreshToken: _, ...rest } = grant;
        this.grant = rest;
      }
      return false;
    }
  }

  private async finish(callback: URL): Promise<void> {
    history.replaceState(null, "", home() + (sessionStorage.getItem(PLACE) ?? ""));
    sessionStorage.removeItem(PLACE);
    try {
      const { finish } = await import("./oidc");
      callback.hash = "";
      this.accept(await finish(this.settings as SignInSettings, home(), callback));
      sessionStorage.removeItem(ASK_AGAIN);
    } catch (error) {
      console.warn("sign-in:", error);
      this.accept(undefined);
      const isDenied = callback.searchParams.get("error") === "access_denied";
      const message = isDenied ? "Sign-in was cancelled." : "Sign-in did not work. Please try again.";
      this.become({ name: "signed-out", message });
    }
  }

  private accept(grant: Grant | undefined): void {
    this.grant = grant;
    if (!grant) {
      sessionStorage.removeItem(GRANT);
      return;
    }
    sessionStorage.setItem(GRANT, JSON.stringify(grant));
    this.become({ name: "signed-in", ...describe(grant) });
  }

  private become(state: SessionState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

/** A token that has expired, or is about to: a quarter of its life before, at most 30 seconds. */
export function isOld({ expiresAt, lifetime = 0 }: Grant, now: number): boolean {
  return expiresAt !== undefined && now > expiresAt - Math.min(30, lifetime / 4) * 1000;
}

export function isExpired({ expiresAt }: Grant, now: number): boolean {
  return expiresAt !== undefined && now >= expiresAt;
}

/** A support person may look at every consumer's orders. */
export function describe({ scope, name }: Grant): { readsAny: boolean; user?: string } {
  return { readsAny: scope.split(" ").includes(READ_ANY), ...(name ? { user: name } : {}) };
}

/** What belongs to the user, not to the browser. */
function forgetUser(): void {
  for (const store of [sessionStorage, localStorage]) {
    for (const name of Object.keys(store)) if (name.startsWith("ftgo.")) store.removeItem(name);
  }
}

function readGrant(): Grant | undefined {
  try {
    return (JSON.parse(sessionStorage.getItem(GRANT) ?? "null") as Grant | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** The page's own address, without query and fragment: what the issuer knows as redirect_uri. */
function home(): string {
  return location.origin + location.pathname.replace(/[^/]*$/, "");
}

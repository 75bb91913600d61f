import { useState } from "preact/hooks";
import type { Session } from "../session";

export function Account({ session }: { session: Session }) {
  const { state } = session;
  if (state.name !== "signed-in" && state.name !== "ended") return null;
  return (
    <div class="row account">
      {state.user && (
        <span class="quiet user" title={state.user}>
          <bdi>{state.user}</bdi>
        </span>
      )}
      {state.readsAny && <span class="chip">Support</span>}
      {state.name === "signed-in" && (
        <button type="button" class="button small" onClick={() => void session.signOut()}>
          Sign out
        </button>
      )}
    </div>
  );
}

export function SignedOut({ session, message }: { session: Session; message: string | undefined }) {
  return (
    <div class="card center">
      <h1 tabIndex={-1}>Your orders</h1>
      {message && (
        <p class="notice" role="status">
          {message}
        </p>
      )}
      <p>Sign in to see your orders and their delivery, and to pay.</p>
      <SignInButton session={session} text="Sign in" />
    </div>
  );
}

export function Leaving() {
  return (
    <div class="card center">
      <h1 tabIndex={-1}>Your orders</h1>
      <p role="status">Signing out…</p>
    </div>
  );
}

/** The shown data stays, because the user may be reading it. */
export function SessionEndedNotice({ session }: { session: Session }) {
  return (
    <div class="notice busy row" role="alert">
      <p class="grow">
        <strong>Your session has ended.</strong> The shown data may be out of date.
      </p>
      <SignInButton session={session} text="Sign in again" />
    </div>
  );
}

export function NotSetUp() {
  return (
    <div class="card center">
      <h1 tabIndex={-1}>Sign-in is not set up</h1>
      <p>
        This service requires a token, but sign-in is not configured. Deploy it with the parameter{" "}
        <code class="mono">SignInClientId</code>, the client id of this page at your issuer, or with{" "}
        <code class="mono">UserPool=true</code> to try it out.
      </p>
      <p class="quiet">Programs that already have a token can use the service.</p>
    </div>
  );
}

function SignInButton({ session, text }: { session: Session; text: string }) {
  const [busy, setBusy] = useState(false);
  return (
    <button type="button" class="button primary" aria-disabled={busy} onClick={() => void click()}>
      {text}
    </button>
  );

  async function click() {
    if (busy) return;
    setBusy(true);
    await session.signIn();
    setBusy(false);
  }
}

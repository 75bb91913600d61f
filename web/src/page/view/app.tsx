import { useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { Client } from "../../api/client";
import type { Config } from "../config";
import { back, remember } from "../last-list";
import { parseRoute, type Route } from "../route";
import type { Session } from "../session";
import { Announcements } from "./announcements";
import { OrderPage } from "./order";
import { OrdersPage } from "./orders";
import { Account, Leaving, NotSetUp, SessionEndedNotice, SignedOut } from "./sign-in";

export function App({ config, session }: { config: Config; session: Session }) {
  const [, update] = useReducer((count: number) => count + 1, 0);
  // A layout effect runs before the children's effects, whose first request may end the session.
  useLayoutEffect(() => session.subscribe(() => update(undefined as never)), [session]);
  const client = useMemo(() => new Client(session), [session]);
  const route = useRoute();
  const main = useRef<HTMLElement>(null);
  useTitleAndFocus(route, main);
  if (route.name === "orders") remember(route.filter);
  const [error] = useErrorBoundary(error => console.error(error));
  const { state } = session;

  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: a skip link, which must not change the fragment: that is the route */}
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <header class="top">
        <div class="wrap">
          <a class="brand" href="#/">
            <Mark />
            <span>
              FTGO <span class="brand-rest">Order History</span>
            </span>
          </a>
          {config.console && (
            <a class="to-console" href={config.console}>
              Console
            </a>
          )}
          <Account session={session} />
        </div>
      </header>
      <main id="main" class="wrap" tabIndex={-1} ref={main}>
        {state.name === "ended" && <SessionEndedNotice session={session} />}
        {error ? <Broken /> : <Content config={config} session={session} client={client} route={route} />}
      </main>
      <footer class="wrap quiet">Times are in your time zone, {timeZone()}.</footer>
      <Announcements />
    </>
  );

  function skip(event: Event) {
    event.preventDefault();
    main.current?.focus();
  }
}

interface ContentProps {
  config: Config;
  session: Session;
  client: Client;
  route: Route;
}

function Content({ config, session, client, route }: ContentProps) {
  const { state } = session;
  if (state.name === "not-set-up") return <NotSetUp />;
  if (state.name === "leaving") return <Leaving />;
  if (state.name === "signed-out") return <SignedOut session={session} message={state.message} />;
  if (route.name === "unknown") return <Nowhere />;
  if (route.name === "order") {
    return (
      <OrderPage
        key={route.orderId}
        config={config}
        session={session}
        client={client}
        orderId={route.orderId}
        back={back()}
      />
    );
  }
  return <OrdersPage config={config} session={session} client={client} filter={route.filter} />;
}

function Nowhere() {
  return (
    <>
      <h1 tabIndex={-1}>Page not found</h1>
      <p class="gap">
        This page does not exist. <a href={back()}>See all orders</a>
      </p>
    </>
  );
}

function Broken() {
  return (
    <div class="notice bad" role="alert">
      <p>This page has an error and cannot show this content. Please reload the page.</p>
      <button type="button" class="button small" onClick={() => location.reload()}>
        Reload
      </button>
    </div>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" width="30" height="30" aria-hidden="true">
      <path d="M6 3h20v24l-3.3-2.6L19.3 27 16 24.4 12.7 27 9.3 24.4 6 27z" class="mark-paper" />
      <path d="M11 9.5h10M11 14h10M11 18.5h5" class="mark-lines" />
    </svg>
  );
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const listen = () => setHash(location.hash);
    window.addEventListener("hashchange", listen);
    return () => window.removeEventListener("hashchange", listen);
  }, []);
  return useMemo(() => parseRoute(hash), [hash]);
}

/** Moves the focus to the heading of a new view, for screen readers. The first view leaves the focus to the browser. */
function useTitleAndFocus(route: Route, main: { current: HTMLElement | null }): void {
  const title =
    route.name === "order" ? `Order ${route.orderId}` : route.name === "orders" ? "Orders" : "Page not found";
  const first = useRef(true);
  useLayoutEffect(() => {
    document.title = `${title} · FTGO`;
    if (!first.current) {
      window.scrollTo(0, 0);
      (main.current?.querySelector("h1") ?? main.current)?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [title]);
}

function timeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

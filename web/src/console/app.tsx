import { useCallback, useState } from "preact/hooks";
import { type Api, type State, Unreachable } from "./api";
import { DeadLetters } from "./dead-letters";
import { Functions } from "./functions";
import { failure, type Notice, sentence, withNotice, withoutNotice } from "./notices";
import { Orders } from "./orders";
import { Overview } from "./overview";
import { usePoll } from "./poll";
import { Queues } from "./queues";
import { ShuffleRegion } from "./shuffle-region";
import { Archive, Outbox } from "./stores";
import { Topic } from "./topic";

/** Runs a button's action, and shows the result as a notice. `action` returns the text for success, or nothing if no notice is needed. */
export type Run = (what: string, action: () => Promise<string | undefined>) => Promise<void>;

const STATE_EVERY_MS = 1000;

export function App({ api }: { api: Api }) {
  const [state, setState] = useState<State>();
  const [trouble, setTrouble] = useState<Error>();
  const [notices, setNotices] = useState<Notice[]>([]);

  usePoll("state", STATE_EVERY_MS, async ended => {
    try {
      const response = await api.state();
      if (ended.aborted) return;
      setState(response);
      setTrouble(undefined);
    } catch (error) {
      setTrouble(error as Error);
    }
  });

  const run = useCallback<Run>(async (what, action) => {
    try {
      const text = await action();
      if (text !== undefined) setNotices(before => withNotice(before, "good", text));
    } catch (error) {
      setNotices(before => withNotice(before, "bad", failure(what, error)));
    }
  }, []);

  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <div class="wrap">
          <h1>Console</h1>
          <p class="quiet grow motto">The whole system, on this machine</p>
          <a href="../">Order history</a>
        </div>
      </header>
      <main class={trouble === undefined ? "wrap" : "wrap stale"} id="content" tabIndex={-1}>
        <div role="alert">{trouble && <Trouble error={trouble} />}</div>
        {state && <Overview state={state} />}
        <ShuffleRegion api={api} run={run} />
        {state === undefined ? (
          <p class="quiet">{trouble === undefined ? "Loading…" : ""}</p>
        ) : (
          <>
            <div class="pair wide-left">
              <Orders api={api} orders={state.orders} run={run} />
              <div class="stack">
                <Outbox outbox={state.outbox} now={state.now} />
                <Archive archive={state.archive} />
              </div>
            </div>
            <DeadLetters api={api} queues={state.queues} now={state.now} run={run} />
            <div class="pair wide-right">
              <Queues queues={state.queues} />
              <Topic topic={state.topic} />
            </div>
            <Functions api={api} functions={state.functions} run={run} />
          </>
        )}
      </main>
      <Notices notices={notices} dismiss={id => setNotices(before => withoutNotice(before, id))} />
    </>
  );
}

function Trouble({ error }: { error: Error }) {
  return (
    <p class="notice bad">
      {error instanceof Unreachable ? (
        <>
          The system does not answer. Is <code>make run</code> still running?
        </>
      ) : (
        sentence(`The system returned an error: ${error.message}`)
      )}
    </p>
  );
}

function Notices({ notices, dismiss }: { notices: Notice[]; dismiss: (id: number) => void }) {
  return (
    <section class="notices" aria-label="Messages" aria-live="polite">
      {notices.map(notice => (
        <div class={`notice ${notice.mood}`} key={notice.id}>
          <p>{notice.text}</p>
          <button type="button" class="button small" onClick={() => dismiss(notice.id)}>
            Dismiss
          </button>
        </div>
      ))}
    </section>
  );
}

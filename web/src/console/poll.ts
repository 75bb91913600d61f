// Asking again and again, one request at a time, while somebody looks.
import { useEffect, useRef } from "preact/hooks";

/** What a poll needs of a document. */
export interface Visibility extends EventTarget {
  readonly hidden: boolean;
}

/**
 * Runs `task`, waits `everyMs` after it ends, and runs it again. It pauses while the document is hidden and goes on at once when it is
 * shown. Returns what ends it. The task handles its own errors.
 */
export function poll(task: () => Promise<void>, everyMs: number, visibility: Visibility): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = false;
  let ended = false;
  const run = async () => {
    clearTimeout(timer);
    if (running || ended || visibility.hidden) return;
    running = true;
    await task();
    running = false;
    if (!ended) timer = setTimeout(run, everyMs);
  };
  visibility.addEventListener("visibilitychange", run);
  run();
  return () => {
    ended = true;
    clearTimeout(timer);
    visibility.removeEventListener("visibilitychange", run);
  };
}

/** Polls while `key` is set, and starts anew when it changes. The task gets a signal that tells it that its answer is too late. */
export function usePoll(key: string | undefined, everyMs: number, task: (ended: AbortSignal) => Promise<void>): void {
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    if (key === undefined) return;
    const ended = new AbortController();
    const stop = poll(() => latest.current(ended.signal), everyMs, document);
    return () => {
      ended.abort();
      stop();
    };
  }, [key, everyMs]);
}

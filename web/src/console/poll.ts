// Polls at a fixed interval, one request at a time, while the page is visible.
import { useEffect, useRef } from "preact/hooks";
import { Poll } from "../polling";

/** Polls while `key` is set, and restarts when it changes. The task's signal is aborted when its response is no longer needed. */
export function usePoll(key: string | undefined, everyMs: number, task: (ended: AbortSignal) => Promise<void>): void {
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    if (key === undefined) return;
    const ended = new AbortController();
    const poll = new Poll({ shortest: everyMs, longest: everyMs }, async () => {
      await latest.current(ended.signal);
      // Also after a failure, which the task shows: a local system is polled at the same interval.
      return "changed";
    });
    return () => {
      ended.abort();
      poll.stop();
    };
  }, [key, everyMs]);
}

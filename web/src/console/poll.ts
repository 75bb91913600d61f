// Asking again and again at the same pace, one request at a time, while somebody looks.
import { useEffect, useRef } from "preact/hooks";
import { Poll } from "../polling";

/** Polls while `key` is set, and starts anew when it changes. The task gets a signal that tells it that its answer is too late. */
export function usePoll(key: string | undefined, everyMs: number, task: (ended: AbortSignal) => Promise<void>): void {
  const latest = useRef(task);
  latest.current = task;
  useEffect(() => {
    if (key === undefined) return;
    const ended = new AbortController();
    const poll = new Poll({ shortest: everyMs, longest: everyMs }, async () => {
      await latest.current(ended.signal);
      // Also after a failure, which the task shows: a system on this machine is asked as often as before.
      return "changed";
    });
    return () => {
      ended.abort();
      poll.stop();
    };
  }, [key, everyMs]);
}

import { useRef, useState } from "preact/hooks";
import type { Run } from "./app";

/** What a button does, one thing at a time. `isBusy` is for its `aria-disabled`: a button that is disabled would lose the focus. */
export function useAction(run: Run): { isBusy: boolean; act: Run } {
  const [isBusy, setBusy] = useState(false);
  // The state is that of the last rendering, and a second click may come before the next one.
  const isUnderway = useRef(false);
  const act: Run = async (what, action) => {
    if (isUnderway.current) return;
    isUnderway.current = true;
    setBusy(true);
    await run(what, action);
    isUnderway.current = false;
    setBusy(false);
  };
  return { isBusy, act };
}

/** The second click of a double click is none: where the first one changed what stands here, it would press something else. */
export function once(act: () => void): (event: MouseEvent) => void {
  return event => {
    if (event.detail < 2) act();
  };
}

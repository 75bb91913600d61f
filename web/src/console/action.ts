import { useRef, useState } from "preact/hooks";
import type { Run } from "./app";

/** Runs a button's action, one at a time. Use `isBusy` for `aria-disabled`: a button with `disabled` would lose the focus. */
export function useAction(run: Run): { isBusy: boolean; act: Run } {
  const [isBusy, setBusy] = useState(false);
  // The state changes with the next rendering, and a second click may come before it.
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

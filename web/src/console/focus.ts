// Some buttons disappear after they were pressed. Without this, the focus would be lost, and a keyboard user would start again at the
// top of the page.

/** Moves the focus to the region of an element that had it and was removed: to its heading, or to the region itself. */
export function keepFocus(root: HTMLElement): void {
  let focused: HTMLElement | undefined;
  let region: HTMLElement | null = null;
  root.addEventListener("focusin", event => {
    focused = event.target as HTMLElement;
    region = focused.closest("section");
  });
  // Some browsers also send this event for an element that is being removed. A microtask runs after the removal.
  root.addEventListener("focusout", ({ target }) =>
    queueMicrotask(() => {
      if (focused === target && focused?.isConnected) focused = undefined;
    }),
  );
  new MutationObserver(() => {
    if (!focused || focused.isConnected || document.activeElement !== document.body) return;
    focused = undefined;
    const next = region?.querySelector<HTMLElement>("h2") ?? region;
    if (!next?.isConnected) return;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
  }).observe(root, { childList: true, subtree: true });
}

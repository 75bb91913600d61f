// Buttons go when they have done their work. Without this, the focus would go with them, and whoever uses a keyboard would begin at the
// top of the page again.

/** Moves the focus to the region of an element that had it and was removed: to its heading, or to the region itself. */
export function keepFocus(root: HTMLElement): void {
  let focused: HTMLElement | undefined;
  let region: HTMLElement | null = null;
  root.addEventListener("focusin", event => {
    focused = event.target as HTMLElement;
    region = focused.closest("section");
  });
  // A browser may say this of an element that it removes, too. Whether it does is known when the removal is over.
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

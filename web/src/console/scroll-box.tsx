import type { ComponentChildren, RefObject } from "preact";

interface Props {
  label: string;
  class: string;
  children: ComponentChildren;
  box?: RefObject<HTMLElement | null>;
  onScroll?: () => void;
}

/** A box with limited height. It has a name and accepts the focus, so that it can be scrolled by keyboard. */
export function ScrollBox({ label, class: className, children, box, onScroll }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section class={className} aria-label={label} tabIndex={0} ref={box ?? null} onScroll={onScroll}>
      {children}
    </section>
  );
}

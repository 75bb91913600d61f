// Signs beside colours. They are hidden from screen readers: each stands beside a text.
import type { Outcome } from "./api";

const PATHS = {
  written: "M3 8.5 6.5 12 13 4.5",
  late: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.8V8l2.4 1.6",
  "no news": "M3.5 6h9M3.5 10h9",
  killed: "M4 4l8 8M12 4l-8 8",
};

export function Icon({ name }: { name: Outcome | "killed" }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

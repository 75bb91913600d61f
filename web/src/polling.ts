// Polls only while the page is visible; slower while nothing changes, and much slower while requests fail.

export type Outcome = "changed" | "unchanged" | "failed" | "over";

export interface Rhythm {
  /** Milliseconds between two requests while things change. */
  shortest: number;
  /** Milliseconds between two requests when nothing has changed for a long time. */
  longest: number;
}

export const ONE_ORDER: Rhythm = { shortest: 2_000, longest: 10_000 };
export const A_LIST: Rhythm = { shortest: 5_000, longest: 30_000 };

const STEADY = 5;
const LONGEST_AFTER_FAILURE = 30_000;

/** The pause before the next request: the shortest for the first requests without a change, then growing. */
export function pause({ shortest, longest }: Rhythm, unchanged: number, failures: number): number {
  if (failures > 0) return Math.min(LONGEST_AFTER_FAILURE, shortest * 2 ** Math.min(failures, 10));
  return Math.min(longest, shortest * 1.3 ** Math.max(0, unchanged - STEADY));
}

/** What a poll needs of a browser. */
export interface Surroundings {
  setTimer(call: () => void, milliseconds: number): number;
  clearTimer(timer: number): void;
  isVisible(): boolean;
  /** Calls the listener when the page becomes visible or hidden, or the network is back. */
  onVisibility(call: () => void): () => void;
}

export const BROWSER: Surroundings = {
  setTimer: (call, milliseconds) => window.setTimeout(call, milliseconds),
  clearTimer: timer => window.clearTimeout(timer),
  isVisible: () => document.visibilityState === "visible",
  onVisibility(call) {
    document.addEventListener("visibilitychange", call);
    window.addEventListener("online", call);
    return () => {
      document.removeEventListener("visibilitychange", call);
      window.removeEventListener("online", call);
    };
  },
};

export class Poll {
  private unchanged = 0;
  private failures = 0;
  private timer: number | undefined;
  private running = false;
  private again = false;
  private stopped = false;
  private readonly unsubscribe: () => void;

  /** `ask` sends one request. Two never run at the same time. */
  constructor(
    private readonly rhythm: Rhythm,
    private readonly ask: () => Promise<Outcome>,
    private readonly surroundings: Surroundings = BROWSER,
  ) {
    this.unsubscribe = surroundings.onVisibility(() => this.onVisibility());
    void this.run();
  }

  /** Polls now, and faster for a while, because the user expects a change. */
  hurry(): void {
    this.unchanged = 0;
    this.failures = 0;
    if (this.running) this.again = true;
    else void this.run();
  }

  stop(): void {
    this.stopped = true;
    this.clear();
    this.unsubscribe();
  }

  private async run(): Promise<void> {
    this.clear();
    if (this.stopped) return;
    this.running = true;
    let outcome: Outcome;
    try {
      outcome = await this.ask();
    } catch (error) {
      // An error in `ask` must not stop the polling.
      console.error(error);
      outcome = "failed";
    } finally {
      this.running = false;
    }
    if (outcome === "over") this.stop();
    if (this.stopped) return;
    this.unchanged = outcome === "unchanged" ? this.unchanged + 1 : 0;
    this.failures = outcome === "failed" ? this.failures + 1 : 0;
    if (this.again) {
      this.again = false;
      void this.run();
    } else this.schedule();
  }

  private schedule(): void {
    this.clear();
    if (!this.surroundings.isVisible()) return;
    const wait = pause(this.rhythm, this.unchanged, this.failures);
    this.timer = this.surroundings.setTimer(() => void this.run(), wait);
  }

  private onVisibility(): void {
    if (!this.surroundings.isVisible()) this.clear();
    else this.hurry();
  }

  private clear(): void {
    if (this.timer !== undefined) this.surroundings.clearTimer(this.timer);
    this.timer = undefined;
  }
}

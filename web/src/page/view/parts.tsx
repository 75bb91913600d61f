// Small components that several views use.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../../api/response";
import { sentenceOf } from "../problems";
import type { Standing } from "../status";
import { formatMoment, formatNear, formatRelative } from "../time";
import { announce } from "./announcements";

/** A status. */
export function Chip({ standing }: { standing: Standing }) {
  return (
    <span class={`chip ${standing.tone}`}>
      <bdi>{standing.text}</bdi>
    </span>
  );
}

/** The sentence for a problem, with the request's id for support. */
export function ProblemNotice({ problem, children }: { problem: Problem; children?: ComponentChildren }) {
  const { text, mistakes, requestId } = sentenceOf(problem);
  return (
    <div class="notice bad" role="alert">
      <p>{text}</p>
      {mistakes.length > 0 && (
        <ul class="mistakes">
          {mistakes.map(mistake => (
            <li key={mistake}>{mistake}</li>
          ))}
        </ul>
      )}
      {children}
      {requestId && (
        <details class="quiet">
          <summary>For support</summary>
          Request <span class="mono">{requestId}</span>
        </details>
      )}
    </div>
  );
}

interface ReadProblemProps {
  problem: Problem;
  /** Whether earlier data is shown. */
  isShown: boolean;
  children?: ComponentChildren;
}

/** Why data could not be read. The page retries automatically. */
export function ReadProblem({ problem, isShown, children }: ReadProblemProps) {
  const { status } = problem;
  const isPassing = status === 0 || status === 429 || status >= 500;
  if (!isPassing) return <ProblemNotice problem={problem}>{children}</ProblemNotice>;
  const cause =
    status === 0
      ? "The service does not answer. Please check your connection."
      : "The service has a problem at the moment.";
  const retry = "The page tries again automatically.";
  return <PassingProblem text={`${cause} ${isShown ? "The shown data may be out of date. " : ""}${retry}`} />;
}

/** It is announced, because a live region that appears together with its text is not always read out. */
function PassingProblem({ text }: { text: string }) {
  useEffect(() => announce(text), [text]);
  return (
    <div class="notice busy">
      <p>{text}</p>
    </div>
  );
}

/** The current time, updated every few seconds so that relative times stay correct. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** `5 minutes ago`, with the exact time as a tooltip. */
export function Ago({ at, now }: { at: string; now: number }) {
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {formatRelative(at, now)}
    </time>
  );
}

/** The time of day, with the date on another day. */
export function Clock({ at, now }: { at: string; now: number }) {
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {formatNear(at, now)}
    </time>
  );
}

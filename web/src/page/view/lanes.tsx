// The timeline: a column for each service, time from top to bottom. On a phone the columns are thin lines next to the text.
import { useMemo } from "preact/hooks";
import type { TimelineEntry } from "../../api/schema";
import { formatClock, formatDay, formatDuration, formatMoment, isNewDay } from "../time";
import { LANES, type Lane, laneDuration, pauseHeight, rails, type Step, steps } from "../timeline";

interface LanesProps {
  timeline: readonly TimelineEntry[];
  fresh: ReadonlySet<string>;
  now: number;
}

const NAMES = new Map(LANES.map(({ lane, name }) => [lane, name]));
/** The grid's column of a lane; the first column has the times. */
const column = (lane: Lane) => LANES.findIndex(one => one.lane === lane) + 2;
/** The grid's row of a step; the first row has the names of the lanes. */
const row = (index: number) => index + 2;

export function Lanes({ timeline, fresh, now }: LanesProps) {
  const all = useMemo(() => steps(timeline), [timeline]);
  if (all.length === 0) return null;
  return (
    <section class="card timeline" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <div class="lanes">
        <div class="lane-names" aria-hidden="true">
          {LANES.map(({ lane, name }) => {
            const duration = laneDuration(all, lane);
            return (
              <div key={lane} class={`lane-name ${lane}`} style={{ "--column": column(lane) }}>
                <span class="dot">{name}</span>
                {duration !== undefined && <span class="quiet"> {formatDuration(duration)}</span>}
              </div>
            );
          })}
        </div>
        {rails(all).map(({ lane, first, last }) => (
          <div
            key={lane}
            class={`rail ${lane}`}
            style={{
              "--column": column(lane),
              "--from": pauseBefore(all[first]),
              "--to": pauseBefore(all[last]),
              gridRow: `${row(first)} / ${row(last)}`,
            }}
            aria-hidden="true"
          />
        ))}
        <ol style={{ gridRow: `2 / span ${all.length}` }}>
          {all.map((step, index) => (
            <li
              key={step.eventId}
              class={fresh.has(step.eventId) ? `step ${step.lane} fresh` : `step ${step.lane}`}
              style={{ "--column": column(step.lane), "--pause": pauseBefore(step), gridRow: index + 1 }}
            >
              <span class="at">
                <span class="quiet pause">
                  {step.sincePrevious !== undefined && (
                    <>
                      {formatDuration(step.sincePrevious)}
                      <span class="hidden"> later, at </span>
                    </>
                  )}
                </span>
                <time dateTime={step.at} title={formatMoment(step.at)}>
                  {formatClock(step.at)}
                </time>
                {isNewDay(step.at, all[index - 1]?.at ?? now) && <span class="quiet day"> {formatDay(step.at)}</span>}
              </span>
              <span class="point" aria-hidden="true" />
              <span class="what">
                <span class="hidden">{NAMES.get(step.lane)}: </span>
                <bdi>{step.text}</bdi>
                {step.after && (
                  <span class="quiet after">
                    {" "}
                    {formatDuration(step.after.milliseconds)} after “{step.after.text}”
                  </span>
                )}
              </span>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

function pauseBefore(step: Step | undefined): string {
  return `${step?.sincePrevious === undefined ? 0 : pauseHeight(step.sincePrevious)}px`;
}

import type { State } from "./api";
import { number } from "./text";

/** The path of an event through the system, with current numbers. Each step links to its region. */
export function Overview({ state }: { state: State }) {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const waiting = sum(state.queues.map(queue => queue.waiting));
  const inFlight = sum(state.queues.map(queue => queue.inFlight));
  const dead = sum(state.queues.map(queue => queue.deadLetters));
  return (
    <nav aria-label="Path of an event">
      <ol class="overview">
        <Step to="outbox" name="Outbox" count={state.outbox.unpublished} unit="unpublished" mood="busy" />
        <Step to="topic" name="Topic" count={state.topic.published} unit="published" />
        <Step to="queues" name="Queues" count={waiting + inFlight} unit="waiting or in flight" mood="busy" />
        <Step
          to="functions"
          name="Functions"
          count={sum(state.functions.map(lambda => lambda.invocations))}
          unit="invocations"
        />
        <Step
          to="dead-letters"
          name="Dead letters"
          count={dead}
          unit={dead === 1 ? "message" : "messages"}
          mood="bad"
        />
        <Step
          to="archive"
          name="Archive"
          count={state.archive.files}
          unit={state.archive.files === 1 ? "file" : "files"}
        />
      </ol>
    </nav>
  );
}

interface StepProps {
  to: string;
  name: string;
  count: number;
  unit: string;
  /** How a number above zero looks. */
  mood?: "busy" | "bad";
}

function Step({ to, name, count, unit, mood }: StepProps) {
  return (
    <li class={count > 0 ? (mood ?? "") : ""}>
      <a href={`#${to}`}>
        <span class="name">{name}</span>
        <span class="count">
          <strong key={count}>{number(count)}</strong> {unit}
        </span>
      </a>
    </li>
  );
}

import { useEffect, useMemo, useState } from "preact/hooks";
import { once } from "../once";
import { useAction } from "./action";
import type { Api, DeadLetter, Queue } from "./api";
import type { Run } from "./app";
import { sentence } from "./notices";
import { ScrollBox } from "./scroll-box";
import { age, count, pretty, shortName } from "./text";

export function DeadLetters({ api, queues, now, run }: { api: Api; queues: Queue[]; now: string; run: Run }) {
  const full = queues.filter(queue => queue.deadLetters > 0);
  return (
    <section class="card" aria-labelledby="dead-letters">
      <h2 id="dead-letters">Dead letters</h2>
      {full.length === 0 ? (
        <p class="quiet">None. A message is moved here after its function failed to process it several times.</p>
      ) : (
        full.map(queue => (
          <LettersOfQueue key={queue.name} api={api} queue={queue} name={shortName(queue.name)} now={now} run={run} />
        ))
      )}
    </section>
  );
}

interface LettersProps {
  api: Api;
  queue: Queue;
  name: string;
  now: string;
  run: Run;
}

function LettersOfQueue({ api, queue, name, now, run }: LettersProps) {
  const [letters, setLetters] = useState<DeadLetter[]>();
  const [problem, setProblem] = useState<string>();

  // The dead letters change only when their number changes, so they are read again only then.
  useEffect(() => {
    let ended = false;
    api.deadLetters(queue.name).then(
      response => {
        if (ended) return;
        setLetters(response);
        setProblem(undefined);
      },
      error => ended || setProblem((error as Error).message),
    );
    return () => {
      ended = true;
    };
  }, [api, queue.name, queue.deadLetters]);

  const { isBusy, act } = useAction(run);
  const redrive = () =>
    act(`Redrive of ${name}`, async () => {
      const { moved } = await api.redrive(queue.name);
      return `${count(moved, "message")} moved back to the queue ${name}.`;
    });

  return (
    <article class="letters">
      <div class="row">
        <h3 class="grow" title={queue.deadLetterQueue}>
          {name} <span class="chip bad">{count(queue.deadLetters, "message")}</span>
        </h3>
        <button type="button" class="button small" aria-disabled={isBusy} onClick={once(redrive)}>
          Redrive<span class="hidden"> {name}</span>
        </button>
      </div>
      {problem !== undefined && <p class="bad tone">{sentence(problem)}</p>}
      <ul>
        {letters?.map(letter => (
          <Letter key={letter.messageId} letter={letter} now={now} />
        ))}
      </ul>
    </article>
  );
}

function Letter({ letter, now }: { letter: DeadLetter; now: string }) {
  const body = useMemo(() => pretty(letter.body), [letter.body]);
  return (
    <li class="letter">
      <p>
        <strong class="bad tone">{letter.reason ?? "No reason was logged"}</strong>
        {letter.detail !== undefined && <span>: {letter.detail}</span>}
      </p>
      <p class="quiet">
        Sent {age(letter.sentAt, now)} ago, received {count(letter.receiveCount, "time")}, message {letter.messageId}
      </p>
      <details>
        <summary>Body</summary>
        <ScrollBox class="well" label={`Body of message ${letter.messageId}`}>
          <pre>{body}</pre>
        </ScrollBox>
      </details>
    </li>
  );
}

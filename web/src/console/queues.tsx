import type { Queue } from "./api";
import { number, shortName } from "./text";
import { Words } from "./words";

export function Queues({ queues }: { queues: Queue[] }) {
  return (
    <section class="card" aria-labelledby="queues">
      <h2 id="queues">Queues</h2>
      <table class="dense">
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col" class="number">
              In flight
            </th>
            <th scope="col" class="number">
              Dead letters
            </th>
          </tr>
        </thead>
        <tbody>
          {queues.map(queue => (
            <tr key={queue.name} class={queue.waiting + queue.inFlight + queue.deadLetters > 0 ? "lively" : ""}>
              <th scope="row" title={queue.name}>
                <Words text={shortName(queue.name)} />
              </th>
              <Count value={queue.waiting} mood="busy" />
              <Count value={queue.inFlight} mood="good" />
              <Count value={queue.deadLetters} mood="bad" />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Count({ value, mood }: { value: number; mood: string }) {
  return (
    <td class={value > 0 ? `number some ${mood}` : "number"}>
      <span>{number(value)}</span>
    </td>
  );
}

import type { Lane, LaneMessage, Outcome, Shuffle } from "./api";
import { Icon } from "./icons";
import { hrefOfOrder } from "./orders";
import {
  type Cell,
  done,
  eventAt,
  isEmpty,
  killedText,
  type Row,
  rows,
  SERVICES,
  shortType,
  type Tally,
  tally,
  tallyText,
  verdict,
} from "./shuffle";
import { Words } from "./words";

/** The messages of both lanes on the sides, the pieces of both items in the middle. */
export function ShufflePicture({ shuffle }: { shuffle: Shuffle }) {
  const [inOrder, shuffled] = shuffle.lanes;
  return (
    <div class="stage">
      <Messages shuffle={shuffle} lane={inOrder} title="In order" />
      <Items shuffle={shuffle} />
      <Messages shuffle={shuffle} lane={shuffled} title="Shuffled" />
    </div>
  );
}

function Messages({ shuffle, lane, title }: { shuffle: Shuffle; lane: Lane; title: string }) {
  return (
    <div class={`lane ${lane.name === "shuffled" ? "shuffled" : "ordered"}`}>
      <div class="lane-head">
        <h3>{title}</h3>
        <span class="quiet">
          {done(lane)} of {lane.messages.length} done,{" "}
          <a href={hrefOfOrder(lane.orderId)} title={lane.orderId}>
            see the order<span class="hidden"> that gets them {lane.name}</span>
          </a>
        </span>
      </div>
      <ol class="messages" aria-label={`Messages, ${lane.name}`}>
        {lane.messages.map((message, index) => (
          <MessageRow key={`${message.event} ${message.copy} ${index}`} shuffle={shuffle} message={message} />
        ))}
      </ol>
    </div>
  );
}

function MessageRow({ shuffle, message }: { shuffle: Shuffle; message: LaneMessage }) {
  const killed = killedText(message);
  const event = eventAt(shuffle, message.event);
  return (
    <li class={`tile-row ${SERVICES[event.aggregate].className} ${message.state}`}>
      <span class="tile">{message.event + 1}</span>
      <span class="what">
        <span class="type">{shortType(event.eventType)}</span>
        {message.copy === 2 && (
          <span class="copy">
            copy<span class="hidden"> (duplicate)</span>
          </span>
        )}
      </span>
      <span class="state">
        {message.state === "waiting" && <span class="hidden">waiting</span>}
        {message.state === "sent" && <span class="sending dot">in flight</span>}
        {message.state === "done" && <Marks sums={tally([message])} />}
      </span>
      {killed !== undefined && (
        <span class="killed-text">
          <Icon name="killed" /> {killed}
        </span>
      )}
    </li>
  );
}

const MARKS: Outcome[] = ["written", "late", "no news"];

function Marks({ sums }: { sums: Tally }) {
  return (
    <span class="marks">
      <span class="hidden">{tallyText(sums)}</span>
      {MARKS.filter(outcome => sums[outcome] > 0).map(outcome => (
        // A new number is a new element, so that it is animated.
        <span key={`${outcome} ${sums[outcome]}`} class={`mark ${className(outcome)}`} aria-hidden="true">
          <Icon name={outcome} />
          {sums[outcome]}
        </span>
      ))}
    </span>
  );
}

function className(outcome: Outcome): string {
  return outcome === "no news" ? "no-news" : outcome;
}

function Items({ shuffle }: { shuffle: Shuffle }) {
  const table = rows(shuffle);
  const [inOrder, shuffled] = shuffle.lanes;
  const same = table.filter(row => row.same === true).length;
  const { mood, text } = verdict(shuffle);
  return (
    <div class="items">
      <table>
        <caption class="hidden">
          The pieces of both orders: the number of the event that wrote each piece, and its value
        </caption>
        <thead>
          <tr>
            <th scope="col" class="piece head">
              In order
            </th>
            <th scope="col" class="piece head middle">
              Piece
            </th>
            <th scope="col" class="piece head">
              Shuffled
            </th>
          </tr>
        </thead>
        <tbody>
          {table.map(row => (
            <PieceRow key={row.piece} shuffle={shuffle} row={row} />
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td class="piece">
              <code data-testid="lane-digest">{inOrder.digest ?? "–"}</code>
            </td>
            <th scope="row" class="piece middle">
              <span class="name">
                digest <Sign same={digestSame(shuffle)} />
              </span>
            </th>
            <td class="piece">
              <code data-testid="lane-digest">{shuffled.digest ?? "–"}</code>
            </td>
          </tr>
        </tfoot>
      </table>
      <div class={`verdict ${mood}`}>
        <strong role="status" data-testid="shuffle-result">
          {text}
        </strong>
        <span>
          {same} of {table.length} pieces are the same
        </span>
      </div>
      <Legend />
    </div>
  );
}

function digestSame({ lanes: [inOrder, shuffled] }: Shuffle): boolean | undefined {
  if (inOrder.digest === undefined && shuffled.digest === undefined) return undefined;
  return inOrder.digest === shuffled.digest;
}

function PieceRow({ shuffle, row }: { shuffle: Shuffle; row: Row }) {
  const [left, right] = row.cells;
  return (
    <tr>
      <PieceCell shuffle={shuffle} cell={left} />
      <th scope="row" class="piece middle">
        <span class="name">
          {row.piece} <Sign same={row.same} />
        </span>
      </th>
      <PieceCell shuffle={shuffle} cell={right} />
    </tr>
  );
}

function Sign({ same }: { same: boolean | undefined }) {
  if (same === undefined) return null;
  return (
    <span key={String(same)} class={same ? "sign same" : "sign"}>
      <span aria-hidden="true">{same ? "=" : "≠"}</span>
      <span class="hidden">{same ? "same" : "different"}</span>
    </span>
  );
}

function PieceCell({ shuffle, cell }: { shuffle: Shuffle; cell: Cell }) {
  if (isEmpty(cell)) {
    return (
      <td class="piece">
        <span class="nothing">nothing yet</span>
      </td>
    );
  }
  const event = cell.event === undefined ? undefined : eventAt(shuffle, cell.event);
  return (
    <td class={event ? `piece ${SERVICES[event.aggregate].className}` : "piece"}>
      {MARKS.map(
        outcome =>
          cell.tally[outcome] > 0 && (
            <span key={`${outcome} ${cell.tally[outcome]}`} class={`flash ${className(outcome)}`} aria-hidden="true" />
          ),
      )}
      <span class="held">
        {event && cell.event !== undefined && (
          <span class="tile" title={event.eventType}>
            <span class="hidden">event </span>
            {cell.event + 1}
          </span>
        )}
        <span class="value" title={cell.value}>
          <Words text={cell.value} />
        </span>
        <Marks sums={{ ...cell.tally, written: 0 }} />
      </span>
    </td>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li>
        <span class="tile">7</span> event number 7
      </li>
      <li>
        <span class="mark written">
          <Icon name="written" />
        </span>
        written: the event is newer
      </li>
      <li>
        <span class="mark late">
          <Icon name="late" />
        </span>
        late: the piece has a newer event and keeps it
      </li>
      <li>
        <span class="mark no-news">
          <Icon name="no news" />
        </span>
        no news: a duplicate, nothing changes
      </li>
      <li>
        <span class="copy">copy</span> the same message a second time
      </li>
      {Object.values(SERVICES).map(service => (
        <li key={service.name} class={`dot ${service.className}`}>
          {service.name}
        </li>
      ))}
    </ul>
  );
}

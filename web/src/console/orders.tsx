import { useEffect, useRef, useState } from "preact/hooks";
import { once } from "../once";
import { useAction } from "./action";
import { type Api, type NextEvent, type OrderLine, Refused, Unreachable } from "./api";
import type { Run } from "./app";
import { sentence } from "./notices";
import { usePoll } from "./poll";
import { ScrollBox } from "./scroll-box";
import { Words } from "./words";

const NEXT_EVERY_MS = 1000;

/** The order on the page. */
export function hrefOfOrder(orderId: string): string {
  return `../#/orders/${encodeURIComponent(orderId)}`;
}

export function Orders({ api, orders, run }: { api: Api; orders: OrderLine[]; run: Run }) {
  const [picked, setPicked] = useState<string>();
  const newest = orders[0]?.orderId;
  const chosen = picked ?? newest;
  // The choice stays when newer orders arrive, so that no button changes just before it is pressed.
  useEffect(() => setPicked(before => before ?? newest), [newest]);
  const { isBusy, act } = useAction(run);
  const create = () =>
    act("New order", async () => {
      const { orderId } = await api.newOrder();
      setPicked(orderId);
      return `Order ${orderId} was created.`;
    });
  return (
    <section class="card" aria-labelledby="orders">
      <div class="row">
        <h2 class="grow" id="orders">
          Orders
        </h2>
        <button type="button" class="button small" aria-disabled={isBusy} onClick={once(create)}>
          New order
        </button>
      </div>
      <div class="orders">
        {orders.length === 0 ? (
          <p class="quiet">There is no order yet.</p>
        ) : (
          <ScrollBox class="scroll" label="All orders">
            <ul>
              {orders.map(order => (
                <li key={order.orderId}>
                  <button
                    type="button"
                    class="pick"
                    aria-pressed={order.orderId === chosen}
                    onClick={() => setPicked(order.orderId)}
                  >
                    <span class="cut">Order {order.orderId}</span>{" "}
                    <span class="quiet cut">{order.status ?? "not created yet"}</span>
                  </button>
                </li>
              ))}
            </ul>
          </ScrollBox>
        )}
        {chosen !== undefined && <Next key={chosen} api={api} orderId={chosen} run={run} />}
      </div>
    </section>
  );
}

function Next({ api, orderId, run }: { api: Api; orderId: string; run: Run }) {
  const [events, setEvents] = useState<NextEvent[]>();
  const [problem, setProblem] = useState<string>();

  const { isBusy, act } = useAction(run);
  const latest = useRef(0);

  /** Ignores a response if a later request was sent: an event may have been published between the two. */
  const read = async () => {
    latest.current += 1;
    const asked = latest.current;
    const isLate = () => asked !== latest.current;
    try {
      const response = await api.next(orderId);
      if (isLate()) return;
      setEvents(response);
      setProblem(undefined);
    } catch (error) {
      if (!isLate() && !(error instanceof Unreachable)) setProblem(problemText(orderId, error as Error));
    }
  };
  usePoll(orderId, NEXT_EVERY_MS, async () => {
    if (!isBusy) await read();
  });

  const publish = (eventType: string) =>
    act(`Publish ${eventType}`, async () => {
      try {
        await api.publish(orderId, eventType);
      } finally {
        // The buttons must show only events that are possible now.
        await read();
      }
      return `${eventType} of order ${orderId} was published.`;
    });

  return (
    <div class="next">
      <p>
        <a href={hrefOfOrder(orderId)}>See order {orderId} on the page</a>
      </p>
      {problem !== undefined && <p class="quiet">{problem}</p>}
      {problem === undefined && events?.length === 0 && <p class="quiet">No further events: this order is finished.</p>}
      <ul>
        {problem === undefined &&
          events?.map(event => (
            <li key={event.eventType}>
              <button
                type="button"
                class="button publish"
                aria-disabled={isBusy}
                onClick={once(() => publish(event.eventType))}
              >
                <span>
                  Publish <Words text={event.eventType} />
                </span>{" "}
                <span class="quiet">{event.text}</span>
              </button>
            </li>
          ))}
      </ul>
    </div>
  );
}

/** A new order is in the view as soon as its event was processed. */
function problemText(orderId: string, error: Error): string {
  if (error instanceof Refused && error.status === 404) return `Order ${orderId} is not in the view yet.`;
  return sentence(error.message);
}

import type { Topic as TopicState } from "./api";
import { hrefOfOrder } from "./orders";
import { ScrollBox } from "./scroll-box";
import { serviceOf } from "./shuffle";
import { count, time } from "./text";
import { Words } from "./words";

export function Topic({ topic }: { topic: TopicState }) {
  return (
    <section class="card" aria-labelledby="topic">
      <h2 id="topic">Topic</h2>
      <p class="quiet" title={topic.arn}>
        {count(topic.published, "event")} published to {count(topic.subscriptions, "subscription")}
      </p>
      {topic.recent.length === 0 ? (
        <p class="quiet">No events were published yet.</p>
      ) : (
        <ScrollBox class="scroll tall" label="Recent events">
          <ol class="events">
            {topic.recent.map((event, index) => (
              // The key is the number of the message since the start, because an event can be published twice.
              <li key={topic.published - index}>
                <time class="quiet" dateTime={event.at}>
                  {time(event.at)}
                </time>
                <span class={`dot ${serviceOf(event.eventType)?.className ?? "no-service"}`} title={event.eventId}>
                  <span>
                    <Words text={event.eventType} />
                  </span>
                </span>
                {event.orderId !== undefined && (
                  <a class="cut" href={hrefOfOrder(event.orderId)}>
                    order {event.orderId}
                  </a>
                )}
              </li>
            ))}
          </ol>
        </ScrollBox>
      )}
    </section>
  );
}

// The choice of a consumer, for users who may see all orders.
import { useEffect, useState } from "preact/hooks";
import { show } from "../last-list";
import { type Filter, ordersHash } from "../route";

export interface WhoseProps {
  filter: Filter;
  consumer: string;
  /** The demo's consumers, where there is no sign-in. */
  offered: readonly string[];
}

export function Whose({ filter, consumer, offered }: WhoseProps) {
  const [text, setText] = useState(consumer);
  useEffect(() => setText(consumer), [consumer]);
  return (
    <form class="whose" aria-label="Whose orders" onSubmit={submit}>
      <label class="field">
        <span>Consumer</span>
        <input
          value={text}
          onInput={event => setText(event.currentTarget.value)}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          maxLength={255}
        />
      </label>
      <button type="submit" class="button">
        Show
      </button>
      {offered.length > 0 && (
        <p class="offered quiet">
          Consumers in the demo:{" "}
          {offered.map(one => (
            <a
              key={one}
              href={ordersHash({ ...filter, consumer: one })}
              aria-current={one === consumer ? "true" : undefined}
            >
              {one}
            </a>
          ))}
        </p>
      )}
    </form>
  );

  function submit(event: Event) {
    event.preventDefault();
    show({ ...filter, consumer: text.trim() });
  }
}

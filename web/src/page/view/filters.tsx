import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { show } from "../last-list";
import { type Filter, hasConditions, ordersHash, sinceDay } from "../route";
import { ORDER_STATUSES } from "../status";
import { dayBefore } from "../time";

const TYPING_PAUSE = 600;

export function Filters({ filter }: { filter: Filter }) {
  const [words, setWords] = useState(filter.words);
  const timer = useRef<number | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  const latest = useRef(filter);
  latest.current = filter;
  /** The list that this form requested, until it is shown. */
  const asked = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    // The user may have continued typing after this form requested the list. Any other list sets its own words.
    if (asked.current !== ordersHash(filter)) {
      clearTimeout(timer.current);
      setWords(now => (now.trim() === filter.words ? now : filter.words));
    }
    asked.current = undefined;
  }, [filter.consumer, filter.status, filter.words, filter.since]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const known = ORDER_STATUSES.some(({ status }) => status === filter.status);
  return (
    <search>
      <form class="filters" aria-label="Filters" onSubmit={submit}>
        <label class="field">
          <span>Status</span>
          <select value={filter.status} onChange={event => change({ status: event.currentTarget.value })}>
            <option value="">Any status</option>
            {ORDER_STATUSES.map(({ status, text }) => (
              <option key={status} value={status}>
                {text}
              </option>
            ))}
            {filter.status && !known && <option value={filter.status}>{filter.status}</option>}
          </select>
        </label>
        <label class="field">
          <span>Words</span>
          <input
            ref={field}
            type="search"
            value={words}
            placeholder="Restaurant or dish"
            enterkeyhint="search"
            onInput={event => type(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Since</span>
          <input
            type="date"
            value={sinceDay(filter, Date.now())}
            max={dayBefore(Date.now(), 0)}
            onChange={event => change({ since: event.currentTarget.value })}
          />
        </label>
        {hasConditions(filter) && (
          <a
            class="clear"
            onClick={() => field.current?.focus()}
            href={ordersHash({ consumer: filter.consumer, status: "", words: "" })}
          >
            Clear filters
          </a>
        )}
      </form>
    </search>
  );

  function type(text: string) {
    setWords(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => change({ words: text }), TYPING_PAUSE);
  }

  function submit(event: Event) {
    event.preventDefault();
    change({});
  }

  function change(conditions: Partial<Filter>) {
    clearTimeout(timer.current);
    const next = { ...latest.current, words, ...conditions };
    asked.current = ordersHash(next);
    show(next);
  }
}

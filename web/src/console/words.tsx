import { Fragment } from "preact";

/** A long name that may break between its words, as in OrderCreated, READY_FOR_PICKUP or ftgo-payments, and preferably nowhere else. */
export function Words({ text }: { text: string }) {
  return text.split(/(?<=[a-z])(?=[A-Z])|(?<=[_/-])(?=[A-Za-z])/).map((word, place) => (
    <Fragment key={place}>
      {place > 0 && <wbr />}
      {word}
    </Fragment>
  ));
}

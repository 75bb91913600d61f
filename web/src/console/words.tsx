import { Fragment } from "preact";

/** A long name with line breaks allowed between its words, as in OrderCreated, READY_FOR_PICKUP or ftgo-payments. */
export function Words({ text }: { text: string }) {
  return text.split(/(?<=[a-z])(?=[A-Z])|(?<=[_/-])(?=[A-Za-z])/).map((word, index) => (
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {word}
    </Fragment>
  ));
}

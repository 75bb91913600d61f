// Announcements for screen readers, in a polite live region.
import { useLayoutEffect, useState } from "preact/hooks";

interface Announcement {
  id: number;
  text: string;
}

/** How long an announcement stays, in milliseconds: long enough to be read out. */
const KEPT_FOR = 8_000;

let tell: (text: string) => void = () => undefined;

export function announce(text: string): void {
  tell(text);
}

/** Each announcement is a separate element, so that repeated and simultaneous ones are read out too. */
export function Announcements() {
  const [list, setList] = useState<Announcement[]>([]);
  useLayoutEffect(() => {
    let last = 0;
    tell = text => {
      last += 1;
      const id = last;
      setList(before => [...before, { id, text }]);
      setTimeout(() => setList(before => before.filter(one => one.id !== id)), KEPT_FOR);
    };
  }, []);
  return (
    <div class="hidden" role="status" aria-live="polite" aria-atomic="false" data-testid="announcements">
      {list.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  );
}

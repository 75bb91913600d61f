// News for those who do not see them appear: a polite live region reads them out.
import { useLayoutEffect, useState } from "preact/hooks";

interface Announcement {
  id: number;
  text: string;
}

/** Long enough to be read out, in milliseconds. */
const KEPT_FOR = 8_000;

let tell: (text: string) => void = () => undefined;

export function announce(text: string): void {
  tell(text);
}

/** Each is an element of its own: what is said twice, or at the same time as something else, is read out too. */
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

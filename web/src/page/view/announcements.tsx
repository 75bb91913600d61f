// News for those who do not see them appear: a polite live region reads them out.
import { useEffect, useState } from "preact/hooks";

let tell: (text: string) => void = () => undefined;

export function announce(text: string): void {
  tell(text);
}

export function Announcements() {
  const [text, setText] = useState("");
  useEffect(() => {
    tell = setText;
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => setText(""), 8_000);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="hidden" role="status" aria-live="polite" data-testid="announcements">
      {text}
    </div>
  );
}

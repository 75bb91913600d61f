/** Ignores the second click of a double click: after the first one, another button may be at the same position. */
export function once(act: () => void): (event: MouseEvent) => void {
  return event => {
    if (event.detail < 2) act();
  };
}

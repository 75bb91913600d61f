// Formats counts, times, sizes, JSON and log lines for display.

const NUMBER = new Intl.NumberFormat("en");
const TIME = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

export function number(value: number): string {
  return NUMBER.format(value);
}

/** "1 message", "2 messages". */
export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** The time of day in the reader's time zone; a text that is not a time is returned unchanged. */
export function time(at: string): string {
  const millis = Date.parse(at);
  return Number.isNaN(millis) ? at : TIME.format(millis);
}

/** How long ago, roughly: "12 s", "3 min", "2 h", "5 days". */
export function age(at: string, now: string): string {
  const seconds = Math.max(0, Math.round((Date.parse(now) - Date.parse(at)) / 1000));
  if (Number.isNaN(seconds)) return at;
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 36 ? `${hours} h` : count(Math.round(hours / 24), "day");
}

export function bytes(size: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  let unit = 0;
  let value = size;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const style = { style: "unit", unit: units[unit] ?? "byte", maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0 };
  return new Intl.NumberFormat("en", style as Intl.NumberFormatOptions).format(value);
}

/**
 * A message's body with line breaks. JSON texts inside it, such as Eventuate's `payload` or the `Message` of SNS, are shown as JSON.
 * A body that is not JSON is returned unchanged.
 */
export function pretty(body: string): string {
  try {
    const text = JSON.stringify(unfold(JSON.parse(body), 0), null, 2);
    return text.length <= LONGEST ? text : body;
  } catch {
    // Not JSON, or nested too deeply for the parser.
    return body;
  }
}

/** A message has at most 1 MiB; a longer text is mostly indentation. */
const LONGEST = 4 * 1024 * 1024;

/** A body may be anything, so the depth is limited. */
const DEEPEST = 64;

function unfold(value: unknown, depth: number): unknown {
  if (depth > DEEPEST) return value;
  if (typeof value === "string") {
    const inner = /^\s*[[{]/.test(value) ? parse(value) : undefined;
    return inner === undefined ? value : unfold(inner, depth + 1);
  }
  if (Array.isArray(value)) return value.map(element => unfold(element, depth + 1));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, element]) => [name, unfold(element, depth + 1)]));
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A log line in parts. `level` is empty if the line is not one of our JSON lines. */
export interface LogLine {
  at: string;
  level: string;
  text: string;
  /** The other fields, as `name=value`. */
  rest: string;
}

/** Parses a line of the functions' JSON logs, without the definitions of its metrics; any other line becomes `text`. */
export function logLine(line: string): LogLine {
  const parsed = line.startsWith("{") ? parse(line) : undefined;
  if (typeof parsed !== "object" || parsed === null) return { at: "", level: "", text: line, rest: "" };
  const { timestamp, level, message, fields, _aws, ...others } = parsed as Record<string, unknown>;
  const { message: inner, ...named } =
    typeof fields === "object" && fields !== null ? ({ ...fields } as Record<string, unknown>) : {};
  const rest = Object.entries({ ...named, ...others }).map(([name, value]) => `${name}=${plain(value)}`);
  const text = message ?? inner;
  return {
    at: typeof timestamp === "string" ? timestamp : "",
    level: typeof level === "string" ? level : "",
    text: text === undefined ? "" : plain(text),
    rest: rest.join("  "),
  };
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A resource's name without the prefix that all of them share. */
export function shortName(name: string): string {
  return name.replace(/^ftgo-(order-history-)?(?=.)/, "");
}

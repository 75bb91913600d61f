// Formats times in the reader's time zone. Words are English, like the whole page; a time of day has no words and uses
// the browser's format.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The reader's English locale, such as `en-GB`, for formats with words. */
export function english(languages: readonly string[] = globalThis.navigator?.languages ?? []): string {
  return languages.find(language => /^en(-|$)/i.test(language)) ?? "en";
}

/** A moment in full: `18 Nov 2026, 05:15`. A text that is not a time is returned unchanged. */
export function formatMoment(at: string, words = english(), locale?: string): string {
  if (Number.isNaN(Date.parse(at))) return at;
  return `${format(at, { dateStyle: "medium" }, words)}, ${formatClock(at, locale)}`;
}

/** The time of day. */
export function formatClock(at: string, locale?: string): string {
  return format(at, { timeStyle: "short" }, locale);
}

/** The time of day, with the date if that is another day than today. */
export function formatNear(at: string, now: number): string {
  return isNewDay(at, now) ? formatMoment(at) : formatClock(at);
}

/** Whether two moments are on different days in the reader's time zone. */
export function isNewDay(at: string, before: string | number): boolean {
  return new Date(at).toDateString() !== new Date(before).toDateString();
}

/** The day without a time. */
export function formatDay(at: string, locale = english()): string {
  return format(at, { month: "short", day: "numeric" }, locale);
}

/** `5 minutes ago`, `in 2 hours`. */
export function formatRelative(at: string, now: number, locale = english()): string {
  const distance = Date.parse(at) - now;
  if (Number.isNaN(distance)) return at;
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });
  const size = Math.abs(distance);
  if (size < 45 * SECOND) return relative.format(0, "second");
  if (size < 45 * MINUTE) return relative.format(Math.round(distance / MINUTE), "minute");
  if (size < 22 * HOUR) return relative.format(Math.round(distance / HOUR), "hour");
  if (size < 26 * DAY) return relative.format(Math.round(distance / DAY), "day");
  if (size < 320 * DAY) return relative.format(Math.round(distance / DAY / 30.4), "month");
  return relative.format(Math.round(distance / DAY / 365.25), "year");
}

/** How long something took: `45 sec`, `5 min`, `1 hr 5 min`, `2 days 3 hr`. At most two units. */
export function formatDuration(milliseconds: number, locale = english()): string {
  const unit = (value: number, unit: string) =>
    new Intl.NumberFormat(locale, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 }).format(
      value,
    );
  const pair = (whole: number, large: string, rest: number, small: string) =>
    rest > 0 ? `${unit(whole, large)} ${unit(rest, small)}` : unit(whole, large);
  if (milliseconds < SECOND) return unit(Math.max(0, Math.round(milliseconds)), "millisecond");
  if (milliseconds < 9.95 * SECOND) return unit(Math.round(milliseconds / 100) / 10, "second");
  const seconds = Math.round(milliseconds / SECOND);
  if (seconds < 60) return unit(seconds, "second");
  if (seconds < 600) return pair(Math.floor(seconds / 60), "minute", seconds % 60, "second");
  const minutes = Math.round(milliseconds / MINUTE);
  if (minutes < 60) return unit(minutes, "minute");
  if (minutes < 24 * 60) return pair(Math.floor(minutes / 60), "hour", minutes % 60, "minute");
  const hours = Math.round(milliseconds / HOUR);
  return pair(Math.floor(hours / 24), "day", hours % 24, "hour");
}

/** The local day this many days before, in the format of a date field. */
export function dayBefore(now: number, days: number): string {
  const date = new Date(now);
  date.setDate(date.getDate() - days);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The start of a local day, in UTC; undefined if the text is not a day. */
export function startOfDay(day: string): string | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (!match) return undefined;
  const date = new Date(Number(match[1]), Number(match[2]) - 1, Number(match[3]));
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}

function format(at: string, options: Intl.DateTimeFormatOptions, locale?: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : new Intl.DateTimeFormat(locale, options).format(date);
}

// Formats numbers, times and keys for people.
import type { KeyFields } from "./types";
import { language } from "./i18n";

const locale = () => (language() === "zh" ? "zh-CN" : "en-GB");

/** count formats a number, with at most three significant digits above a thousand. */
export function count(n: number): string {
  const compact = Math.abs(n) >= 100_000;
  return new Intl.NumberFormat(locale(), compact ? { notation: "compact", maximumSignificantDigits: 4 } : { maximumFractionDigits: n < 10 ? 1 : 0 }).format(n);
}

export const whole = (n: number) => new Intl.NumberFormat(locale()).format(n);

export function percent(share: number): string {
  return new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);
}

/** micros formats a time in µs. */
export function micros(us: number | undefined): string {
  if (us === undefined) return "–";
  if (us < 1000) return us.toFixed(us < 10 ? 1 : 0) + " µs";
  if (us < 1e6) return (us / 1000).toFixed(us < 1e4 ? 1 : 0) + " ms";
  return (us / 1e6).toFixed(1) + " s";
}

/** span formats a time in ms with its two largest units. */
export function span(ms: number): string {
  if (ms < 1000) return ms + " ms";
  const units: [string, number][] = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const seconds = ms / 1000;
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const first = units.findIndex(([, length]) => seconds >= length);
  const whole = Math.floor(seconds / units[first][1]);
  const rest = Math.floor((seconds % units[first][1]) / units[first + 1][1]);
  return whole + " " + units[first][0] + (rest > 0 ? " " + rest + " " + units[first + 1][0] : "");
}

/** clock formats a time of day with its time zone. */
export const clock = (more: Intl.DateTimeFormatOptions = {}) =>
  new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short", ...more });

/** time formats an instant, without the date if it is today. */
export function time(at: string, more: Intl.DateTimeFormatOptions = {}): string {
  const date = new Date(at);
  const today = date.toDateString() === new Date().toDateString();
  return clock(today ? more : { day: "2-digit", month: "short", year: "numeric", ...more }).format(date);
}

/** keyText returns a key as text. It escapes characters that are not printable, or that would
 * change the direction of the text around them. */
export function keyText(k: KeyFields): string {
  if (k.key_base64) return "base64:" + k.key_base64;
  return (k.key ?? "").replace(/[\p{C}\u2028\u2029]/gu, (c) => "\\u{" + c.codePointAt(0)!.toString(16) + "}");
}

/** cut shortens a text to fit into a table. */
export const cut = (text: string, most = 44) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

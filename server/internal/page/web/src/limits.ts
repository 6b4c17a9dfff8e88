// Parses limits as text (docs/reference/limits.md), as far as the page needs to draw them and
// to write them as fields.

import { algorithms, fields as table } from "./types";

export interface Rate {
  count: number;
  /** seconds is the length of the period; a month counts as 30 days and a year as 365. */
  seconds: number;
  text: string;
}

export interface Limit {
  algorithm: string;
  rates: Rate[];
  fields: Record<string, unknown>;
}

const units: Record<string, number> = {
  us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, d: 86400, w: 604800, mo: 30 * 86400, y: 365 * 86400,
};
const names: Record<string, string> = {};
for (const [name, { aliases }] of Object.entries(algorithms)) for (const one of [name, ...aliases]) names[one] = name;

/** kindOf returns the kind of a word that is the name of a field. */
const kindOf = (word: string) => (Object.hasOwn(table, word) && word !== "variant" ? table[word].kind : "");

/** of returns the properties of a limit's algorithm. */
export const of = (limit: Limit) => algorithms[limit.algorithm] ?? { aliases: [] };

/** seconds parses a span such as 1m30s. It returns NaN for other text. */
export function seconds(text: string): number {
  const parts = text.match(/\d*(us|µs|ms|mo|s|m|h|d|w|y)/g);
  if (!parts || parts.join("") !== text) return NaN;
  return parts.reduce((sum, part) => {
    const [, count, unit] = part.match(/^(\d*)(\D+)$/)!;
    return sum + (count === "" ? 1 : Number(count)) * units[unit];
  }, 0);
}

function rate(word: string): Rate | null {
  const [count, period, more] = word.split("/");
  const length = period === undefined || more !== undefined ? NaN : seconds(period);
  if (!/^\d+$/.test(count) || Number.isNaN(length)) return null;
  return { count: Number(count), seconds: length, text: word };
}

/** words splits text at spaces outside double quotes. */
const words = (text: string) => text.match(/"[^"]*"|\S+/g) ?? [];

/** parse reads a limit. It returns null for other text. The server has the last word. */
export function parse(text: string): Limit | null {
  const all = words(text.trim());
  const limit: Limit = { algorithm: "", rates: [], fields: {} };
  for (let i = 0; i < all.length; i++) {
    const word = all[i];
    const found = rate(word);
    if (i === 0 && Object.hasOwn(names, word)) limit.algorithm = names[word];
    else if (found) limit.rates.push(found);
    else if (of(limit).holds && /^\d+$/.test(word)) limit.fields.limit = Number(word);
    else if (kindOf(word) === "units" && /^\d+$/.test(all[i + 1] ?? "")) limit.fields[word] = Number(all[++i]);
    else if (kindOf(word) === "span" && all[i + 1]) limit.fields[word] = all[++i];
    else if (kindOf(word) === "word" && all[i + 1]) limit.fields[word] = all[++i].replaceAll('"', "");
    else if (kindOf(word) === "flag") limit.fields[word] = true;
    else if (["weighted", "strict", "lenient"].includes(word)) limit.fields.variant = word;
    else return null;
  }
  if (limit.algorithm === "") limit.algorithm = guess(limit);
  return limit.rates.length > 0 || of(limit).holds || of(limit).constant ? limit : null;
}

function guess({ fields }: Limit): string {
  const implied = Object.keys(fields).find((name) => table[name]?.implies);
  return implied ? table[implied].implies! : "token-bucket";
}

/** asFields returns a limit as the fields that a policy or a candidate has. */
export function asFields(limit: Limit): Record<string, unknown> {
  const { constant, refills, holds } = of(limit);
  if (constant) return { [limit.algorithm]: true };
  const fields: Record<string, unknown> = { algorithm: limit.algorithm, ...limit.fields };
  const window = (r: Rate) => ({ limit: r.count, window: r.text.split("/")[1].replace(/^(?=\D)/, "1") });
  if (refills || holds) {
    if (limit.rates.length > 0) fields.rate = limit.rates[0].text;
  } else if (limit.rates.length === 1) Object.assign(fields, window(limit.rates[0]));
  else fields.windows = limit.rates.map(window);
  return fields;
}

/** tighter returns the limit, as text, for a key that may have a share of a limit. */
export function tighter(limit: Limit, share: number): string {
  const part = (n: number) => Math.max(1, Math.floor(n * share));
  if (of(limit).holds) return String(part(Number(limit.fields.limit)));
  const first = limit.rates[0];
  if (!first) return "";
  return part(first.count) + "/" + first.text.split("/")[1];
}

/** set returns the fields of an override that gives a key another rate. It has all fields of
 * the shown limit, even if the policy has changed in the meantime. */
export function set(limit: Limit, text: string): Record<string, unknown> | null {
  const { name: _, ...fields } = limit.fields; // an override cannot rename a limit
  const { holds, divides, adapts, burst_is_count } = of(limit);
  // A key with another number leaves the counter that all keys share.
  if (holds) {
    const lease = fields.lease ? { lease: fields.lease } : {};
    return /^\d+$/.test(text) ? { algorithm: "concurrency", ...lease, limit: Number(text) } : null;
  }
  const found = rate(text);
  if (!found) return null;
  // Another rate does not adapt, and leaves the counter that keys share.
  if (divides || adapts) return asFields({ algorithm: "token-bucket", fields: { burst: found.count }, rates: [found] });
  // The old rate's burst would last far too long at the new rate.
  if (burst_is_count) fields.burst = found.count;
  return asFields({ ...limit, fields, rates: [found] });
}

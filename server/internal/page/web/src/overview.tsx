// The current state: decisions, latency, the store, the keys with the most requests.
import { useState } from "preact/hooks";
import { AcceptLoss, LimitKey, type Target } from "./actions";
import { Chart, type Line } from "./chart";
import { count, micros, percent, span, time, whole } from "./format";
import { t, type Word } from "./i18n";
import { useLive } from "./live";
import { all, Outcomes, RateFigures, ratesOf, times, Top } from "./traffic";
import { Empty, PolicyLink, Table } from "./ui";
import type { Second, Snapshot } from "./types";

export function Overview({ administers }: { administers: boolean }) {
  const { seconds, last } = useLive();
  const [limiting, limit] = useState<Target | null>(null);
  const [accepted, accepting] = useState(false);
  return (
    <>
      <h1 tabIndex={-1}>{t("overview")}</h1>
      <Promise last={last} accept={administers ? () => accepting(true) : undefined} />
      <Figures last={last} />
      <div class="charts">
        <Outcomes seconds={seconds} rates={seconds} />
        <Policies seconds={seconds} />
        <Latency seconds={seconds} />
      </div>
      <Busiest last={last} />
      <div class="columns">
        <Top title={t("mostRequests")} top={last?.top_requests} limit={administers ? limit : undefined} />
        <Top title={t("mostDenied")} top={last?.top_denials} limit={administers ? limit : undefined} />
      </div>
      {accepted && <AcceptLoss close={() => accepting(false)} />}
      {limiting && <LimitKey target={limiting} close={() => limit(null)} done={() => {}} />}
    </>
  );
}

/** modeOf returns the mode that most weakens the promise of this second's decisions. */
export function modeOf(s: Snapshot): "away" | "fallback" | "leased" | "exact" {
  if (s.store.away) return "away";
  if (s.modes.fallback) return "fallback";
  return s.modes.leased ? "leased" : "exact";
}

const promises: Record<ReturnType<typeof modeOf>, [Word, Word]> = {
  away: ["modeAway", "promiseAway"],
  fallback: ["modeFallback", "promiseFallback"],
  leased: ["modeLeased", "promiseLeased"],
  exact: ["modeExact", "promiseExact"],
};

/** Promise describes the current decisions' promise in words. */
function Promise({ last, accept }: { last: Snapshot | null; accept?: () => void }) {
  if (!last) return <section class="panel promise" aria-busy="true"><p class="dim">{t("waiting")}</p></section>;
  const mode = modeOf(last);
  const [title, text] = promises[mode];
  const { store } = last;
  return (
    <section class={"panel promise " + mode} aria-label={t("promise")}>
      <p aria-live="polite">
        <b class="mode">{t(title)}</b> {t(text, { processes: last.processes.count || "?" })}
        {mode === "fallback" && store.losses > 0 && " " + t("lostData")}
      </p>
      <p class="dim">
        {t("store")} <bdi>{store.address}</bdi>
        {store.away ? " · " + t("awayFor", { time: span(store.away_ms), class: store.class ?? "?" }) : " · " + t("answers")}
        {store.keys !== undefined && " · " + t("keysHeld", { keys: whole(store.keys) })}
        {store.outages > 0 && " · " + t("outages", { n: store.outages })}
        {store.losses > 0 && " · " + t("losses", { n: store.losses })}
        {store.doubted_until && " · " + t("doubtedUntil", { time: time(store.doubted_until) })}
        {store.unknown > 0 && " · " + t("unknownTotal", { n: whole(store.unknown) })}
      </p>
      {last.invalid_files?.map((f) => (
        <details key={f.file}>
          <summary>{t("fileInvalid", { file: f.file })}</summary>
          <pre>{f.error}</pre>
        </details>
      ))}
      {accept && store.doubted_until && <button type="button" onClick={accept}>{t("acceptLoss")}</button>}
    </section>
  );
}

function Figures({ last }: { last: Snapshot | null }) {
  return (
    <dl class="figures">
      <RateFigures now={last ?? undefined} />
      <div class="panel">
        <dt>{t("latency50")}</dt>
        <dd class="num">{micros(last?.p50_us)}</dd>
      </div>
      <div class="panel">
        <dt>{t("latency99")}</dt>
        <dd class="num">{micros(last?.p99_us)}</dd>
      </div>
    </dl>
  );
}

/** places are the policies that have a colour. A policy keeps its colour while it is drawn. */
const places: string[] = ["", "", "", "", ""];

/** coloured gives each of the busiest policies a colour, and returns them in the order of the colours. */
function coloured(busiest: string[]): string[] {
  places.forEach((name, i) => busiest.includes(name) || (places[i] = ""));
  for (const name of busiest) if (!places.includes(name)) places[places.indexOf("")] = name;
  return places.filter((name) => name !== "");
}

/** of returns the requests of a policy in a second, or null if busier policies took all places. */
function of(s: Second, policy: string): number | null {
  const rates = ratesOf(s, policy);
  return rates ? all(rates) : null;
}

/** Policies draws the policies with the most requests in the time shown. */
function Policies({ seconds }: { seconds: Second[] }) {
  const sums = new Map<string, number>();
  for (const s of seconds) for (const p of s.policies) sums.set(p.policy, (sums.get(p.policy) ?? 0) + all(p));
  const busiest = [...sums].sort((a, b) => b[1] - a[1]).slice(0, places.length).map(([name]) => name);
  const lines = coloured(busiest).map((name): Line => {
    const values = seconds.map((s) => of(s, name));
    return { label: name, color: "--series-" + (places.indexOf(name) + 1), values, now: count(values.at(-1) ?? 0) };
  });
  return <Chart title={t("chartPolicies")} times={times(seconds)} lines={lines} format={count} />;
}

/** axisMicros formats a power of ten in µs. */
const axisMicros = (us: number) => (us >= 1e6 ? us / 1e6 + " s" : us >= 1000 ? us / 1000 + " ms" : us + " µs");

function Latency({ seconds }: { seconds: Second[] }) {
  const now = seconds.at(-1);
  const lines: Line[] = [
    { label: "p99", color: "--p99", values: seconds.map((s) => s.p99_us ?? null), now: micros(now?.p99_us) },
    { label: "p50", color: "--p50", values: seconds.map((s) => s.p50_us ?? null), now: micros(now?.p50_us) },
  ];
  return <Chart title={t("chartLatency")} times={times(seconds)} lines={lines} format={axisMicros} log />;
}

function Busiest({ last }: { last: Snapshot | null }) {
  return (
    <section class="panel">
      <h2>{t("busiest")}</h2>
      {!last || last.policies.length === 0 ? (
        <Empty>{t("noDecisions")}</Empty>
      ) : (
        <Table moves caption={t("busiest")} columns={["policy", "#allowedPerSecond", "#deniedPerSecond", "#shareDenied", "#failedPerSecond"]}>
          {last.policies.map((p) => (
            <tr key={p.policy}>
              <td>
                <PolicyLink name={p.policy} />
              </td>
              <td class="num">{count(p.allowed)}</td>
              <td class="num">{count(p.denied)}</td>
              <td class="num">{percent(p.denied / Math.max(p.allowed + p.denied, 1e-9))}</td>
              <td class="num">{count(p.unknown + p.invalid)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

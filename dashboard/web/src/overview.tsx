// What happens now: decisions, latency, the store, the keys with the most requests.
import { useState } from "preact/hooks";
import { answering } from "./api";
import { LimitKey, type Target } from "./actions";
import { Chart, type Line } from "./chart";
import { count, micros, percent, span, whole } from "./format";
import { t, type Word } from "./i18n";
import { useLive } from "./live";
import { Empty, Key, PolicyLink, Table } from "./ui";
import type { Second, Snapshot, TopKeys } from "./types";

export function Overview({ administers }: { administers: boolean }) {
  const { seconds, last } = useLive();
  const [limiting, limit] = useState<Target | null>(null);
  return (
    <>
      <h1 tabIndex={-1}>{t("overview")}</h1>
      <Promise last={last} />
      <Figures last={last} />
      <div class="charts">
        <Outcomes seconds={seconds} />
        <Policies seconds={seconds} />
        {!answering.program && <Latency seconds={seconds} />}
      </div>
      <div class="columns">
        <Top title={t("mostRequests")} top={last?.top_requests} administers={administers} limit={limit} />
        <Top title={t("mostRefused")} top={last?.top_refusals} administers={administers} limit={limit} />
      </div>
      <Busiest last={last} />
      {limiting && <LimitKey target={limiting} close={() => limit(null)} done={() => {}} />}
    </>
  );
}

/** modeOf returns the mode that most weakens the promise of this second's decisions. */
export function modeOf(s: Snapshot): "away" | "fallback" | "leased" | "cached" | "exact" {
  if (s.store.away) return "away";
  if (s.modes.fallback) return "fallback";
  if (s.modes.leased) return "leased";
  return s.modes.cached ? "cached" : "exact";
}

const promises: Record<ReturnType<typeof modeOf>, [Word, Word]> = {
  away: ["modeAway", "promiseAway"],
  fallback: ["modeFallback", "promiseFallback"],
  leased: ["modeLeased", "promiseLeased"],
  cached: ["modeCached", "promiseCached"],
  exact: ["modeExact", "promiseExact"],
};

/** Promise says in words what the decisions of now promise. */
function Promise({ last }: { last: Snapshot | null }) {
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
        {store.away ? " · " + t("awayFor", { time: span(store.away_ms) }) : " · " + t("answers")}
        {store.keys !== undefined && " · " + t("keysHeld", { keys: whole(store.keys) })}
        {store.outages > 0 && " · " + t("outages", { n: store.outages })}
        {store.losses > 0 && " · " + t("losses", { n: store.losses })}
        {store.unknown > 0 && " · " + t("unknownTotal", { n: whole(store.unknown) })}
      </p>
    </section>
  );
}

function Figures({ last }: { last: Snapshot | null }) {
  const all = last ? last.allowed + last.denied + last.unknown + last.invalid : 0;
  const show = (n: number | undefined) => (n === undefined ? "–" : count(n));
  return (
    <dl class="figures">
      <div class="panel">
        <dt>{t("decisionsPerSecond")}</dt>
        <dd class="num">{show(last ? all : undefined)}</dd>
      </div>
      <div class="panel denied">
        <dt>{t("refusedPerSecond")}</dt>
        <dd class="num">
          {show(last?.denied)} {last && all > 0 && <small>{percent(last.denied / all)}</small>}
        </dd>
      </div>
      {!answering.program && (
        <>
          <div class="panel">
            <dt>{t("latency50")}</dt>
            <dd class="num">{micros(last?.p50_us)}</dd>
          </div>
          <div class="panel">
            <dt>{t("latency99")}</dt>
            <dd class="num">{micros(last?.p99_us)}</dd>
          </div>
        </>
      )}
      {last && last.unknown + last.invalid > 0 && (
        <div class="panel unknown">
          <dt>{t("errorsPerSecond")}</dt>
          <dd class="num">{show(last.unknown + last.invalid)}</dd>
        </div>
      )}
    </dl>
  );
}

const times = (seconds: Second[]) => seconds.map((s) => s.at_ms / 1000);

/** Outcomes stacks the outcomes: the upper edge is all decisions. */
function Outcomes({ seconds }: { seconds: Second[] }) {
  const now = seconds.at(-1);
  const show = (n: number | undefined) => (n === undefined ? "–" : count(n));
  const lines: Line[] = [
    { label: t("denied"), color: "--denied", fill: true, values: seconds.map((s) => s.allowed + s.denied), now: show(now?.denied) },
    { label: t("allowed"), color: "--allowed", fill: true, values: seconds.map((s) => s.allowed), now: show(now?.allowed) },
  ];
  if (seconds.some((s) => s.unknown + s.invalid > 0)) {
    const failed = (s: Second) => s.unknown + s.invalid;
    lines.unshift({
      label: t("failed"),
      color: "--unknown",
      fill: true,
      values: seconds.map((s) => s.allowed + s.denied + failed(s)),
      now: show(now && failed(now)),
    });
  }
  return <Chart title={t("chartOutcomes")} times={times(seconds)} lines={lines} format={count} />;
}

const SHOWN = 5;

/** Policies draws the policies with the most requests in the time that is shown. */
function Policies({ seconds }: { seconds: Second[] }) {
  const sums = new Map<string, number>();
  for (const s of seconds) for (const p of s.policies) sums.set(p.policy, (sums.get(p.policy) ?? 0) + p.allowed + p.denied + p.unknown + p.invalid);
  const names = [...sums].sort((a, b) => b[1] - a[1]).slice(0, SHOWN).map(([name]) => name).sort();
  const lines = names.map((name, i): Line => {
    const values = seconds.map((s) => {
      const p = s.policies.find((p) => p.policy === name);
      return p ? p.allowed + p.denied + p.unknown + p.invalid : 0;
    });
    return { label: name, color: "--series-" + (i + 1), values, now: count(values.at(-1) ?? 0) };
  });
  return <Chart title={t("chartPolicies")} times={times(seconds)} lines={lines} format={count} />;
}

/** axisMicros writes a power of ten of µs. */
const axisMicros = (us: number) => (us >= 1e6 ? us / 1e6 + " s" : us >= 1000 ? us / 1000 + " ms" : us + " µs");

function Latency({ seconds }: { seconds: Second[] }) {
  const now = seconds.at(-1);
  const lines: Line[] = [
    { label: "p99", color: "--series-2", values: seconds.map((s) => s.p99_us ?? null), now: micros(now?.p99_us) },
    { label: "p50", color: "--series-1", values: seconds.map((s) => s.p50_us ?? null), now: micros(now?.p50_us) },
  ];
  return <Chart title={t("chartLatency")} times={times(seconds)} lines={lines} format={axisMicros} log />;
}

interface TopProps {
  title: string;
  top: TopKeys | undefined;
  administers: boolean;
  limit: (target: Target) => void;
}

function Top({ title, top, administers, limit }: TopProps) {
  const most = top?.keys[0]?.count ?? 1;
  return (
    <section class="panel">
      <h2>
        {title} <small class="dim">{top && t(top.sampled ? "lastSampled" : "last", { time: Math.round(top.span_seconds) })}</small>
      </h2>
      {!top || top.keys.length === 0 ? (
        <Empty>{t(top?.by === "refusals" ? "noRefusals" : "noRequests")}</Empty>
      ) : (
        <Table caption={title} columns={["key", "policy", "#perSecond", "#counted", ...(administers ? ["" as const] : [])]}>
          {top.keys.slice(0, 12).map((k) => (
            <tr key={k.policy + "\0" + (k.key ?? k.key_base64)}>
              <td class="keycell">
                <Key of={k} policy={k.policy} />
                <meter class="bar" min={0} max={most} value={k.count} aria-hidden="true" />
              </td>
              <td>
                <PolicyLink name={k.policy} />
              </td>
              <td class="num">{count(k.per_second)}</td>
              <td class="num" title={t("bounds", { least: whole(k.least), most: whole(k.most) })}>
                {count(k.count)}
              </td>
              {administers && (
                <td class="act">
                  {!k.policy.startsWith("(") && (
                    <button type="button" aria-label={t("limitNamed", { key: k.key ?? "" })} onClick={() => limit({ policy: k.policy, key: k.key, key_base64: k.key_base64 })}>
                      {t("limitButton")}
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}

function Busiest({ last }: { last: Snapshot | null }) {
  return (
    <section class="panel">
      <h2>{t("busiest")}</h2>
      {!last || last.policies.length === 0 ? (
        <Empty>{t("noDecisions")}</Empty>
      ) : (
        <Table caption={t("busiest")} columns={["policy", "#allowedPerSecond", "#deniedPerSecond", "#shareDenied", "#failedPerSecond"]}>
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

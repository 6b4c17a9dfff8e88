// The requests of the server or of one policy: their number, outcomes and keys.
import { useState } from "preact/hooks";
import { get } from "./api";
import { LimitKey, type Target } from "./actions";
import { Chart, type Line } from "./chart";
import { count, percent, whole } from "./format";
import { t } from "./i18n";
import { useLive } from "./live";
import { Empty, ErrorNote, Key, PolicyLink, Table, useLoad } from "./ui";
import type { Rates, Second, TopKeys } from "./types";

/** BUSIEST is the number of policies named in a second. */
const BUSIEST = 20;

const none: Rates = { allowed: 0, denied: 0, unknown: 0, invalid: 0 };
const failed = (r: Rates) => r.unknown + r.invalid;
export const all = (r: Rates) => r.allowed + r.denied + failed(r);
export const times = (seconds: Second[]) => seconds.map((s) => s.at_ms / 1000);

/** ratesOf returns the rates of a policy in a second, or undefined if busier policies took all places. */
export function ratesOf(s: Second, policy: string): Rates | undefined {
  return s.policies.find((p) => p.policy === policy) ?? (s.policies.length < BUSIEST ? none : undefined);
}

const shown = (n: number | undefined) => (n === undefined ? "–" : count(n));

/** RateFigures are the figures of a second. */
export function RateFigures({ now }: { now: Rates | undefined }) {
  return (
    <>
      <div class="panel">
        <dt>{t("decisionsPerSecond")}</dt>
        <dd class="num">{shown(now && all(now))}</dd>
      </div>
      <div class="panel denied">
        <dt>{t("denialsPerSecond")}</dt>
        <dd class="num">
          {shown(now?.denied)} {now && all(now) > 0 && <small>{percent(now.denied / all(now))}</small>}
        </dd>
      </div>
      {now && failed(now) > 0 && (
        <div class="panel failed">
          <dt>{t("errorsPerSecond")}</dt>
          <dd class="num">{shown(failed(now))}</dd>
        </div>
      )}
    </>
  );
}

/** Outcomes stacks the outcomes. The upper edge is the sum of all decisions. A second without rates is a gap. */
export function Outcomes({ seconds, rates }: { seconds: Second[]; rates: (Rates | undefined)[] }) {
  const now = rates.at(-1);
  const line = (label: string, color: string, upTo: (r: Rates) => number, own: (r: Rates) => number): Line => ({
    label,
    color,
    fill: true,
    values: rates.map((r) => (r ? upTo(r) : null)),
    now: shown(now && own(now)),
  });
  const lines = [
    line(t("denied"), "--denied", (r) => r.allowed + r.denied, (r) => r.denied),
    line(t("allowed"), "--allowed", (r) => r.allowed, (r) => r.allowed),
  ];
  if (rates.some((r) => r && failed(r) > 0)) lines.unshift(line(t("failed"), "--failed", all, failed));
  return <Chart title={t("chartOutcomes")} times={times(seconds)} lines={lines} format={count} />;
}

/** Traffic is a policy's part of the server's traffic: its requests, its denials, and its keys. */
export function Traffic({ policy, administers }: { policy: string; administers: boolean }) {
  const { seconds } = useLive();
  const [limiting, limit] = useState<Target | null>(null);
  const rates = seconds.map((s) => ratesOf(s, policy));
  const open = administers ? limit : undefined;
  return (
    <>
      <dl class="figures">
        <RateFigures now={rates.at(-1)} />
      </dl>
      <Outcomes seconds={seconds} rates={rates} />
      {rates.includes(undefined) && <p class="dim">{t("notBusiest", { n: BUSIEST })}</p>}
      <div class="columns">
        <KeysOf policy={policy} by="requests" title={t("mostRequests")} limit={open} />
        <KeysOf policy={policy} by="denials" title={t("mostDenied")} limit={open} />
      </div>
      {limiting && <LimitKey target={limiting} close={() => limit(null)} done={() => {}} />}
    </>
  );
}

interface KeysProps {
  title: string;
  /** limit opens the dialog that limits a key, if the operator may. */
  limit?: (target: Target) => void;
}

/** KeysOf lists the keys of a policy with the most events of a kind. */
export function KeysOf({ policy, by, ...p }: KeysProps & { policy: string; by: string }) {
  const top = useLoad<TopKeys>((signal) => get("keys/top?" + new URLSearchParams({ by, policy, n: "12" }), signal), [policy, by], 2000);
  if (top.error !== null) return <ErrorNote error={top.error} />;
  return <Top {...p} top={top.value ?? undefined} of={policy} />;
}

/** Top lists keys by their counts, for one policy or for all. */
export function Top({ title, top, of, limit }: KeysProps & { top: TopKeys | undefined; of?: string }) {
  const most = top?.keys[0]?.count ?? 1;
  return (
    <section class="panel">
      <h2>
        {title} <small class="dim">{top && t(top.sampled ? "lastSampled" : "last", { time: Math.round(top.span_seconds) })}</small>
      </h2>
      {!top || top.keys.length === 0 ? (
        <Empty>{t(top?.by === "denials" ? "noDenials" : "noRequests")}</Empty>
      ) : (
        <Table moves caption={title} columns={["key", ...(of === undefined ? (["policy"] as const) : []), "#perSecond", "#counted", ...(limit ? ["" as const] : [])]}>
          {top.keys.slice(0, 12).map((k) => (
            <tr key={k.policy + "\0" + (k.key ?? k.key_base64)}>
              <td class="keycell">
                <Key of={k} policy={k.policy} />
                <meter class={"bar " + top.by} min={0} max={most} value={k.count} aria-hidden="true" />
              </td>
              {of === undefined && (
                <td>
                  <PolicyLink name={k.policy} />
                </td>
              )}
              <td class="num">{count(k.per_second)}</td>
              <td class="num" title={t("bounds", { least: whole(k.least), most: whole(k.most) })}>
                {count(k.count)}
              </td>
              {limit && (
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

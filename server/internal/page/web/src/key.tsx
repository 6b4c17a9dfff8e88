// One key: its state under each limit, what passes now, and its last decisions.
import { useState } from "preact/hooks";
import { post } from "./api";
import { GiveBack, LimitKey, Reset, type Target } from "./actions";
import { keyText, span, time, whole } from "./format";
import { t } from "./i18n";
import { Clear } from "./policy";
import { by, Empty, ErrorNote, Field, Key, keyLink, PolicyLink, Table, useLoad } from "./ui";
import type { ActiveChange, Decided, Explanation, Explanations, KeyFields, Open as OpenReservation, Standing, Timeline as Decisions } from "./types";

interface Props {
  of: KeyFields | null;
  policy: string;
  administers: boolean;
}

export function KeyPage({ of, policy, administers }: Props) {
  return (
    <>
      <h1 tabIndex={-1}>
        {t("key")} {of && <Key of={of} />}
      </h1>
      <Find of={of} policy={policy} />
      {of ? <Explained key={policy + "\0" + keyText(of)} of={of} policy={policy} administers={administers} /> : <Empty>{t("keyHint")}</Empty>}
    </>
  );
}

function Find({ of, policy }: { of: KeyFields | null; policy: string }) {
  const [key, setKey] = useState(of?.key ?? "");
  const [name, setName] = useState(policy);
  const go = (e: Event) => {
    e.preventDefault();
    if (key !== "") location.hash = keyLink(name, { key }).slice(1);
  };
  return (
    <form class="panel toolbar" role="search" onSubmit={go}>
      <Field label={t("key")} value={key} change={setKey} required />
      <Field label={t("policyOptional")} value={name} change={setName} />
      <button type="submit">{t("show")}</button>
    </form>
  );
}

type Open = { action: "limit" | "give" | "reset"; target: Target };

function Explained({ of, policy, administers }: { of: KeyFields; policy: string; administers: boolean }) {
  const body = { ...of, ...(policy === "" || policy.startsWith("(") ? {} : { policy }) };
  const explained = useLoad<Explanations>((signal) => post("keys/explain", body, signal), [policy, of.key, of.key_base64], 1000);
  const timeline = useLoad<Decisions>((signal) => post("keys/timeline", { ...of, policy: policy || undefined }, signal), [policy, of.key, of.key_base64], 1000);
  const [open, setOpen] = useState<Open | null>(null);
  const [clearing, clear] = useState<ActiveChange | null>(null);
  const close = () => setOpen(null);
  const p = open && { target: open.target, close, done: explained.reload };
  const all = explained.value?.explanations;
  return (
    <>
      {explained.error !== null && <ErrorNote error={explained.error} />}
      {all?.length === 0 && <Empty>{t("keyUnknown")}</Empty>}
      {all?.map((e) => (
        <Standings key={e.policy + (e.counted_as ?? "")} e={e} administers={administers} open={(action) => setOpen({ action, target: { policy: e.policy, ...of } })} clear={clear} />
      ))}
      {explained.value?.open && <OpenReservations open={explained.value.open} />}
      <Timeline decisions={timeline.value?.decisions} error={timeline.error} />
      {p && open.action === "limit" && <LimitKey {...p} />}
      {p && open.action === "give" && <GiveBack {...p} />}
      {p && open.action === "reset" && <Reset {...p} />}
      {clearing && <Clear change={clearing} close={() => clear(null)} done={explained.reload} />}
    </>
  );
}

function OpenReservations({ open }: { open: OpenReservation[] }) {
  return (
    <section class="panel">
      <h2>{t("openReservations")}</h2>
      <Table caption={t("openReservations")} columns={["policy", "key", "#units", "#reported", "endsUnsettled"]}>
        {open.flatMap((o) =>
          o.charges.map((c, i) => (
            <tr key={o.id + i}>
              <td>{c.policy ? <PolicyLink name={c.policy} /> : <code>{c.limit}</code>}</td>
              <td>
                <Key of={c} policy={c.policy ?? ""} />
              </td>
              <td class="num">{whole(c.units)}</td>
              <td class="num">{whole(c.reported ?? 0)}</td>
              <td>{t("thenUnsettled", { at: time(o.ends_at), then: t(o.unsettled as "keep" | "release" | "estimate") })}</td>
            </tr>
          )),
        )}
      </Table>
    </section>
  );
}

function answer(e: Explanation): string {
  return e.failure ? t("byFailure", { answer: verdict(e), mode: e.failure }) : verdict(e);
}

function verdict(e: Explanation): string {
  if (!e.allowed && e.limits.some((l) => l.error)) return t(e.failure ? "anError" : "notKnown");
  if (e.allowed) return t("passesNow", { cost: e.cost });
  if (e.never) return t("neverPasses", { cost: e.cost });
  return e.frees_at ? t("deniedUntil", { at: time(e.frees_at) }) : t("deniedNow");
}

interface StandingsProps {
  e: Explanation;
  administers: boolean;
  open: (action: Open["action"]) => void;
  /** clear ends the change to a key or pattern. */
  clear: (change: ActiveChange) => void;
}

function Standings({ e, administers, open, clear }: StandingsProps) {
  return (
    <section class="panel">
      <h2>
        <PolicyLink name={e.policy} /> <small class={e.allowed ? "allowed" : e.limits.some((l) => l.error) ? "failed" : "denied"}>{answer(e)}</small>
      </h2>
      {e.counted_as && <p class="dim">{t("countedAs", { hash: e.counted_as })}</p>}
      {e.old_secret && <p class="note">{t("oldSecret")}</p>}
      {e.override_unknown && <p class="note">{t("overrideUnknown")}</p>}
      <Table caption={e.policy} columns={["limit", "#passes", "level", "fullIn", "source"]}>
        {e.limits.map((l, i) => (
          <tr key={i}>
            <td>
              <code>{l.limit}</code> {l.class && <span class="tag">{t("classIs", { name: l.class })}</span>} {l.shadow && <span class="tag">{t("isShadow")}</span>} {l.decides && e.limits.length > 1 && <span class="tag">{t("decides")}</span>}
            </td>
            <td class="num">{l.classes ? <Classes of={l} /> : passes(l, l)}</td>
            <td>
              {l.error ? <span class="failed">{l.error}</span> : <Level l={l} />}
              {l.pool && <small class="dim">{t(l.pool.permits ? "poolHeld" : l.pool.groups ? "poolGroups" : "poolIs", {
                n: whole(l.pool.outstanding), all: whole(l.pool.burst), own: whole(l.pool.of_key), part: whole(l.pool.part), keys: whole(l.pool.heavy_keys), most: whole(l.pool.burst - 1),
              })}</small>}
              {!!l.strikes && <small class="dim">{t("strikes", { n: whole(l.strikes) })}</small>}
              {l.in_force && <small class="dim">{t("rateInForce", { rate: l.in_force.rate, n: whole(l.in_force.changes) })}</small>}
            </td>
            <td>{l.error ? "–" : l.reset_after_ms > 0 ? span(l.reset_after_ms) : t("full")}</td>
            <td>
              {l.rule ? t("overrideOf", { rule: l.rule }) : t(l.from === "change" ? "change" : "file")}
              {l.change && " · " + t("changedBy", { author: by(l.change) }) + (l.change.expires ? " · " + t("endsAt", { at: time(l.change.expires) }) : "")}
            </td>
          </tr>
        ))}
      </Table>
      {administers && (
        <div class="buttons">
          <button type="button" onClick={() => open("limit")}>
            {t("limitButton")}
          </button>
          <button type="button" onClick={() => open("give")}>
            {t("giveBack")}…
          </button>
          <button type="button" onClick={() => open("reset")}>
            {t("resetKey")}…
          </button>
          {e.limits.map(
            (l, i) =>
              l.rule &&
              l.change && (
                <button key={i} type="button" onClick={() => clear(l.change!)}>
                  {t("clearNamed", { key: l.rule })}
                </button>
              ),
          )}
        </div>
      )}
    </section>
  );
}

/** passes says how many units of a limit pass, for the key or for a class of it. */
function passes(l: Standing, of: Pick<Standing, "allowed" | "capacity" | "remaining">): string {
  const units = l.error ? "–" : of.capacity === undefined ? t(of.allowed ? "all" : "nothing") : t("of", { n: whole(of.remaining!), all: whole(of.capacity) });
  return l.unit ? units + " " + l.unit : units;
}

/** Classes shows the remaining units for each class that a request of the key can have. */
function Classes({ of: l }: { of: Standing }) {
  return (
    <ul class="classes">
      {l.classes!.map((c) => (
        <li key={c.class} class={c.allowed ? "allowed" : "denied"}>
          {c.class}: {passes(l, c)}
        </li>
      ))}
    </ul>
  );
}

function Level({ l }: { l: Standing }) {
  if (l.capacity === undefined || l.capacity === 0) return null;
  return <meter class="level" min={0} max={l.capacity} value={l.remaining} aria-label={t("of", { n: l.remaining!, all: l.capacity })} />;
}

interface Group {
  latest: Decided;
  earliest: string;
  times: number;
}

/** groups combines consecutive decisions with the same answer. */
function groups(decisions: Decided[]): Group[] {
  const all: Group[] = [];
  for (const d of decisions) {
    const last = all.at(-1);
    const l = last?.latest;
    if (last && l && l.outcome === d.outcome && l.policy === d.policy && l.mode === d.mode && l.cost === d.cost && l.frontend === d.frontend) {
      last.times += d.counts;
      last.earliest = d.at;
    } else all.push({ latest: d, earliest: d.at, times: d.counts });
  }
  return all;
}

/** millis formats a time with its milliseconds. */
const millis = (at: string) => time(at, { fractionalSecondDigits: 3 });

function Timeline({ decisions, error }: { decisions?: Decided[]; error: unknown }) {
  const sampled = decisions?.some((d) => d.counts > 1);
  const outcome = (d: Decided) => t(d.outcome);
  return (
    <section class="panel">
      <h2>
        {t("timeline")} {sampled && <small class="dim">{t("timelineSampled")}</small>}
      </h2>
      {error !== null && <ErrorNote error={error} />}
      {decisions?.length === 0 && <Empty>{t("noTimeline")}</Empty>}
      {decisions && decisions.length > 0 && (
        <>
          <ol class="strip" aria-hidden="true">
            {[...decisions].reverse().slice(-96).map((d, i) => (
              <li key={i} class={d.outcome} title={millis(d.at) + " " + outcome(d)} />
            ))}
          </ol>
          <Table caption={t("timeline")} columns={["when", "outcome", "#times", "policy", "#cost", "#remaining", "retryIn", "by"]}>
            {groups(decisions).map(({ latest: d, earliest, times }, i) => (
              <tr key={i}>
                <td class="when">
                  {earliest === d.at ? "" : millis(earliest) + " – "}
                  {millis(d.at)}
                </td>
                <td>
                  <span class={d.outcome}>{outcome(d)}</span> {d.mode && d.mode !== "exact" && <span class={"tag " + d.mode}>{d.mode}</span>}
                </td>
                <td class="num">{sampled ? "≈ " + whole(times) : whole(times)}</td>
                <td>
                  <PolicyLink name={d.policy} />
                </td>
                <td class="num">{whole(d.cost)}</td>
                <td class="num">{d.outcome === "failed" ? "–" : t("of", { n: whole(d.remaining), all: whole(d.limit) })}</td>
                <td>{d.retry_after_ms === undefined ? "" : span(d.retry_after_ms)}</td>
                <td>{d.frontend}</td>
              </tr>
            ))}
          </Table>
        </>
      )}
    </section>
  );
}

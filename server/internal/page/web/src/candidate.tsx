// A new version of a policy: checked, tried as a candidate alongside the live policy, and then
// put in force or dropped.
import { useState } from "preact/hooks";
import { get, post } from "./api";
import { Signed, useSigned } from "./actions";
import { percent, time, whole } from "./format";
import { t } from "./i18n";
import { asFields, type Limit, parse } from "./limits";
import { KeysOf } from "./traffic";
import { BeforeAfter, ErrorNote, Field, say, useLoad } from "./ui";
import { type Change, fields, type PolicyView, type Trial } from "./types";

const limitFields = ["algorithm", "rate", "limit", "window", ...Object.keys(fields), "deny", "unlimited", "all", "first"];

/** settingsOf returns the fields of a change other than its limit and candidate. */
function settingsOf(change: Change | null): Record<string, unknown> {
  const set = change?.fields;
  if (typeof set !== "object" || set === null) return {};
  return Object.fromEntries(Object.entries(set).filter(([name]) => name !== "shadow" && !limitFields.includes(name)));
}

/** withCandidate returns the fields of the change that tries a limit, or no limit. Other fields
 * of the current change stay. */
export function withCandidate(change: Change | null, shadow: string | false): Record<string, unknown> {
  if (typeof change?.fields === "string") {
    const own = parse(change.fields);
    return own ? { ...asFields(own), shadow } : { shadow };
  }
  return { ...((change?.fields as object) ?? {}), shadow };
}

/** inForce returns the fields that put a limit in force. With its algorithm, or as text, it
 * replaces the whole limit. A candidate in the file ends only if the change names it. */
export function inForce(change: Change | null, text: string, limit: Limit, candidateOfFile = false): unknown {
  const settings = { ...settingsOf(change), ...(candidateOfFile ? { shadow: false } : {}) };
  return Object.keys(settings).length === 0 ? text : { ...settings, ...asFields(limit) };
}

interface Props {
  view: PolicyView;
  administers: boolean;
  reload: () => void;
}

export function Candidate({ view, administers, reload }: Props) {
  const { candidate, shadow } = view.in_force;
  if (!administers && !candidate && !shadow) return null;
  return (
    <section class="panel">
      <h2>{t("newVersion")}</h2>
      {(candidate || shadow) && <Tried view={view} />}
      {administers && (candidate ? <Decide view={view} reload={reload} /> : <Propose view={view} reload={reload} />)}
    </section>
  );
}

interface Shadows {
  shadows: Shadow[];
}

/** Shadow has the decisions of a candidate or a shadow, compared with the live policy. */
export interface Shadow {
  policy: string;
  since: string;
  both_allowed: number;
  both_denied: number;
  newly_denied: number;
  newly_allowed: number;
  /** unknown is the number of requests that could not be compared. */
  unknown: number;
}

/** Tried shows how many answers would differ. */
function Tried({ view }: { view: PolicyView }) {
  const shadows = useLoad<Shadows>((signal) => get("shadows?policy=" + encodeURIComponent(view.name), signal), [view.name], 1000);
  const s = shadows.value?.shadows.find((s) => s.policy === view.name);
  const { both_allowed: a, both_denied: b, newly_denied: c, newly_allowed: d } = s ?? { both_allowed: 0, both_denied: 0, newly_denied: 0, newly_allowed: 0 };
  const all = a + b + c + d;
  const cell = (n: number) => (all === 0 ? "0" : whole(n) + " (" + percent(n / all) + ")");
  return (
    <>
      <p>
        {view.in_force.candidate ? t("candidateIs") : t("shadowIs")} <code class="limit">{view.in_force.candidate ?? view.in_force.limits.join(" + ")}</code>
      </p>
      {shadows.error !== null && <ErrorNote error={shadows.error} />}
      <dl class="shadow" aria-live="off">
        <div class="deny">
          <dt>{t("wouldDeny")}</dt>
          <dd class="num">{cell(c)}</dd>
        </div>
        <div class="pass">
          <dt>{t("wouldPass")}</dt>
          <dd class="num">{cell(d)}</dd>
        </div>
        <div>
          <dt>{t("samePass")}</dt>
          <dd class="num">{cell(a)}</dd>
        </div>
        <div>
          <dt>{t("sameDeny")}</dt>
          <dd class="num">{cell(b)}</dd>
        </div>
      </dl>
      <p class="dim">
        {all === 0 ? t("noneTried") : t("comparedSince", { n: whole(all), at: time(s!.since) })}
        {s && s.unknown > 0 && " " + t("notCompared", { n: whole(s.unknown) })}
      </p>
      <div class="columns">
        {c > 0 && <KeysOf policy={view.name} by="newly-denied" title={t("keysDenied")} />}
        {d > 0 && <KeysOf policy={view.name} by="newly-allowed" title={t("keysPass")} />}
      </div>
    </>
  );
}

/** Propose checks a limit, and starts to try it. */
function Propose({ view, reload }: { view: PolicyView; reload: () => void }) {
  const signed = useSigned();
  const [text, setText] = useState(view.in_force.limits.length === 1 ? view.in_force.limits[0] : "");
  const [trial, setTrial] = useState<{ before: string; after: string } | null>(null);
  const [open, setOpen] = useState(false);
  const limit = parse(text);
  const check = () =>
    signed.send(async () => {
      const fields = limit ? inForce(view.change, text, limit) : text;
      const d = (await post<Trial>("changes/try", { policy: view.name, fields })).policies.find((p) => p.name === view.name);
      setTrial(d ? { before: d.before?.limits.join(" + ") ?? "", after: d.after.limits.join(" + ") } : { before: "", after: "" });
    });
  const change = (fields: unknown, done: string) =>
    signed.send(async () => {
      await post("changes", { policy: view.name, fields, author: signed.by, reason: signed.reason, expires: view.change?.expires });
      say(done);
      setTrial(null);
      setOpen(false);
      reload();
    });
  if (view.in_force.limits.length !== 1) return <p class="dim">{t("onlySingle")}</p>;
  if (!open) {
    return (
      <p>
        {t("proposeHint")}{" "}
        <button type="button" onClick={() => setOpen(true)}>
          {t("propose")}
        </button>
      </p>
    );
  }
  return (
    <form
      class="propose"
      onSubmit={(e) => {
        e.preventDefault();
        if (!trial) void check();
        else if (limit) void change(withCandidate(view.change, text), t("nowTried"));
      }}
    >
      <Field label={t("limitText")} hint={t("limitTextHint")} value={text} change={(v) => (setText(v), setTrial(null))} required />
      <div aria-live="polite">
        {trial &&
          (trial.after === "" ? (
            <p>{t("noDifference")}</p>
          ) : (
            <p class="trial">
              <BeforeAfter {...trial} />
            </p>
          ))}
      </div>
      {signed.error !== null && <ErrorNote error={signed.error} />}
      {!trial || trial.after === "" ? (
        <div class="buttons">
          <button type="button" onClick={() => setOpen(false)}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary" disabled={signed.busy || text === ""}>
            {t("check")}
          </button>
        </div>
      ) : (
        <>
          <Signed {...signed} submit={t("tryIt")} close={() => setOpen(false)} />
          <p class="buttons">
            <button type="button" disabled={signed.busy || signed.by === "" || !limit} onClick={() => limit && change(inForce(view.change, text, limit), t("nowInForce"))}>
              {t("forceUntried")}
            </button>
          </p>
        </>
      )}
    </form>
  );
}

/** Decide puts the candidate in force, or drops it. */
function Decide({ view, reload }: { view: PolicyView; reload: () => void }) {
  const signed = useSigned();
  const text = view.in_force.candidate!;
  const limit = parse(text);
  const own = view.change && typeof view.change.fields === "object" && "shadow" in (view.change.fields as object);
  const put = (fields: unknown, done: string) =>
    signed.send(async () => {
      await post("changes", { policy: view.name, fields, author: signed.by, reason: signed.reason, expires: view.change?.expires });
      say(done);
      reload();
    });
  const drop = () => {
    if (!own) return put(withCandidate(view.change, false), t("nowDropped"));
    const { shadow: _, ...rest } = view.change?.fields as Record<string, unknown>;
    if (Object.keys(rest).length > 0) return put(rest, t("nowDropped"));
    return signed.send(async () => {
      await post("changes/clear", { policy: view.name, author: signed.by, reason: signed.reason });
      say(t("nowDropped"));
      reload();
    });
  };
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (limit) void put(inForce(view.change, text, limit, !own), t("nowInForce"));
      }}
    >
      <div class="pair">
        <Field label={t("author")} value={signed.by} change={signed.setBy} required />
        <Field label={t("reason")} value={signed.reason} change={signed.setReason} />
      </div>
      {signed.error !== null && <ErrorNote error={signed.error} />}
      <div class="buttons">
        <button type="button" disabled={signed.busy || signed.by === ""} onClick={() => void drop()}>
          {t("drop")}
        </button>
        <button type="submit" class="primary" disabled={signed.busy || signed.by === "" || !limit}>
          {t("putInForce")}
        </button>
      </div>
    </form>
  );
}

// An operator's actions on a key: limit it, give units back, reset its spent units.
import { useEffect, useState } from "preact/hooks";
import { post } from "./api";
import { keyText } from "./format";
import { t } from "./i18n";
import { type Limit, of, parse, set, tighter } from "./limits";
import { Choice, Dialog, ErrorNote, Field, say, words } from "./ui";
import type { AcceptedLoss, Explanation, Explanations, Given, KeyFields, Reset, Standing, Trial } from "./types";

const AUTHOR = "headgate.author";

export const author = () => localStorage.getItem(AUTHOR) ?? "";
export const keepAuthor = (name: string) => localStorage.setItem(AUTHOR, name);

export const durations = (): [string, string][] => [
  ["10m", t("minutes10")],
  ["15m", t("minutes15")],
  ["1h", t("hour1")],
  ["24h", t("day1")],
  ["168h", t("week1")],
  ["", t("untilCleared")],
];

export interface Target extends KeyFields {
  policy: string;
}

interface Props {
  target: Target;
  close: () => void;
  done: () => void;
}

/** Signed are the fields that every action has, and the buttons. */
export function Signed(p: {
  reason: string;
  setReason: (v: string) => void;
  by: string;
  setBy: (v: string) => void;
  busy: boolean;
  submit: string;
  close: () => void;
}) {
  return (
    <>
      <div class="pair">
        <Field label={t("author")} value={p.by} change={p.setBy} required />
        <Field label={t("reason")} value={p.reason} change={p.setReason} />
      </div>
      <div class="buttons">
        <button type="button" onClick={p.close}>
          {t("cancel")}
        </button>
        <button type="submit" class="primary" disabled={p.busy || p.by === ""}>
          {p.submit}
        </button>
      </div>
    </>
  );
}

/** useSigned remembers the author for the next action. */
export function useSigned() {
  const [by, setBy] = useState(author());
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  /** send runs an action, and reports errors. */
  const send = async (act: () => Promise<void>) => {
    keepAuthor(by);
    setBusy(true);
    setError(null);
    try {
      await act();
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  return { by, setBy, reason, setReason, busy, error, send };
}

/** Place is a target for an override: a limit that can be set, or a whole policy. */
interface Place {
  policy: string;
  text: string;
  limit?: Limit;
  now?: string;
}

function whole(policy: string): Place {
  return { policy, text: t("allLimits", { policy }) };
}

function placeOf(s: Standing): Place {
  const policy = s.target ?? s.policy;
  if (s.combined && !s.target) return whole(s.policy);
  const limit = parse(s.limit);
  const constant = !limit || of(limit).constant || of(limit).punishes;
  return { policy, text: policy + ": " + s.limit, limit: constant ? undefined : limit, now: s.limit };
}

/** placesOf returns the targets for a key's override, each policy once. It omits shadows of
 * other policies, which decide nothing. */
function placesOf(e: Explanation): Place[] {
  const places = e.combined ? [whole(e.policy)] : [];
  for (const s of e.limits) {
    if (!s.shadow && !places.some((p) => p.policy === (s.target ?? s.policy))) places.push(placeOf(s));
  }
  return places.length > 0 ? places : e.limits.slice(0, 1).map(placeOf);
}

/** fieldsOf returns the fields of an override, or null while the text is not a rate. */
function fieldsOf(kind: string, text: string, limit: Limit | undefined): Record<string, unknown> | null {
  if (kind === "deny" || kind === "unlimited") return { [kind]: true };
  const fields = limit && set(limit, text);
  return fields ? { set: fields } : null;
}

/** LimitKey proposes an override: a tenth of the key's current limit, or nothing if it cannot
 * have another limit. */
export function LimitKey({ target, close, done }: Props) {
  const signed = useSigned();
  const [places, setPlaces] = useState<Place[]>([]);
  const [at, setAt] = useState(0);
  const [kind, setKind] = useState("set");
  const [text, setText] = useState("");
  const [lasts, setLasts] = useState("1h");
  const [trial, setTrial] = useState<Trial | null>(null);
  const [trialError, setTrialError] = useState("");
  const place = places[at] as Place | undefined;
  const policy = place?.policy ?? target.policy;
  const key = target.key_base64 ? keyText(target) : (target.key ?? "");
  const fields = place ? fieldsOf(kind, text, place.limit) : null;
  const choose = (all: Place[], n: number) => {
    const limit = all[n]?.limit;
    setPlaces(all);
    setAt(n);
    setKind((kind) => (limit || kind === "unlimited" ? kind : "deny"));
    setText(limit ? tighter(limit, 0.1) : "");
  };

  useEffect(() => {
    const { policy: name, ...of } = target;
    post<Explanations>("keys/explain", { policy: name, key: of.key, key_base64: of.key_base64 }).then((answer) => {
      const [e] = answer.explanations;
      choose(placesOf(e), 0);
    }, (e) => setTrialError(words(e)));
  }, []);

  useEffect(() => {
    if (!fields) return setTrial(null);
    const control = new AbortController();
    const timer = setTimeout(() => {
      post<Trial>("changes/try", { policy, key, fields }, control.signal).then(
        (answer) => (setTrial(answer), setTrialError("")),
        (e) => control.signal.aborted || (setTrial(null), setTrialError(words(e))),
      );
    }, 150);
    return () => (control.abort(), clearTimeout(timer));
  }, [place, kind, text]);

  const submit = (e: Event) => {
    e.preventDefault();
    void signed.send(async () => {
      const change = { policy, key, fields, author: signed.by, reason: signed.reason };
      await post("changes", lasts ? { ...change, for: lasts } : change);
      say(t("limited", { key: keyText(target), policy }));
      done();
      close();
    });
  };
  const after = trial?.policies.find((p) => p.name === policy)?.after.overrides?.[0];
  return (
    <Dialog title={t("limitKey")} close={close}>
      <form onSubmit={submit}>
        <p>
          {t("key")} <bdi class="key">{keyText(target)}</bdi>, {t("policy")} <b>{policy}</b>
        </p>
        {places.length > 1 && <Choice label={t("whichLimit")} value={String(at)} change={(v) => choose(places, Number(v))} options={places.map((p, i) => [String(i), p.text])} />}
        {place && !place.now && <p class="note">{t("asWhole")}</p>}
        <div class="pair">
          <Choice
            label={t("becomes")}
            value={kind}
            change={setKind}
            options={[
              ...(place && !place.limit ? [] : [["set", t("another")] as [string, string]]),
              ["deny", t("denyAll")],
              ["unlimited", t("admitAll")],
            ]}
          />
          {kind === "set" && <Field label={t("newRate")} hint={place?.now && t("nowIs", { limit: place.now })} value={text} change={setText} required />}
        </div>
        <Choice label={t("lasts")} value={lasts} change={setLasts} options={durations()} />
        <p class="trial" aria-live="polite">
          {after ? t("wouldBe", { limit: after.limit }) : trialError || (kind === "set" && text !== "" && !fields ? t("noRate") : " ")}
        </p>
        {signed.error !== null && <ErrorNote error={signed.error} />}
        <Signed {...signed} submit={t("limitIt")} busy={signed.busy || !after} close={close} />
      </form>
    </Dialog>
  );
}

export function GiveBack({ target, close, done }: Props) {
  const signed = useSigned();
  const [units, setUnits] = useState("1");
  const submit = (e: Event) => {
    e.preventDefault();
    void signed.send(async () => {
      const answer = await post<Given>("keys/give", { ...target, units: Number(units), author: signed.by, reason: signed.reason });
      say(t("given", { units, remaining: answer.remaining }));
      done();
      close();
    });
  };
  return (
    <Dialog title={t("giveBack")} close={close}>
      <form onSubmit={submit}>
        <p>
          {t("key")} <bdi class="key">{keyText(target)}</bdi>, {t("policy")} <b>{target.policy}</b>
        </p>
        <Field label={t("units")} type="number" value={units} change={setUnits} required />
        {signed.error !== null && <ErrorNote error={signed.error} />}
        <Signed {...signed} submit={t("giveBack")} close={close} />
      </form>
    </Dialog>
  );
}

export function Reset({ target, close, done }: Props) {
  const signed = useSigned();
  const submit = (e: Event) => {
    e.preventDefault();
    void signed.send(async () => {
      const answer = await post<Reset>("keys/reset", { ...target, author: signed.by, reason: signed.reason });
      say(t(answer.found ? "resetDone" : "resetNothing", { key: keyText(target) }));
      done();
      close();
    });
  };
  return (
    <Dialog title={t("resetKey")} close={close}>
      <form onSubmit={submit}>
        <p>
          {t("key")} <bdi class="key">{keyText(target)}</bdi>, {t("policy")} <b>{target.policy}</b>
        </p>
        <p>{t("resetMeans")}</p>
        {signed.error !== null && <ErrorNote error={signed.error} />}
        <Signed {...signed} submit={t("resetKey")} close={close} />
      </form>
    </Dialog>
  );
}

/** AcceptLoss trusts a store that has lost data. */
export function AcceptLoss({ close }: { close: () => void }) {
  const signed = useSigned();
  const submit = (e: Event) => {
    e.preventDefault();
    void signed.send(async () => {
      const answer = await post<AcceptedLoss>("store/accept-loss", { author: signed.by, reason: signed.reason });
      say(t(answer.lost ? "lossAccepted" : "noLoss"));
      close();
    });
  };
  return (
    <Dialog title={t("acceptLoss")} close={close}>
      <form onSubmit={submit}>
        <p>{t("acceptLossMeans")}</p>
        {signed.error !== null && <ErrorNote error={signed.error} />}
        <Signed {...signed} submit={t("acceptLoss")} close={close} />
      </form>
    </Dialog>
  );
}

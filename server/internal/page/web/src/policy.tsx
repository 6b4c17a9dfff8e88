// One policy: its limits, its overrides, the change on top, and a candidate under trial.
import { useRef, useState } from "preact/hooks";
import { get, Problem, post } from "./api";
import { Signed, useSigned } from "./actions";
import { Candidate } from "./candidate";
import { Drawing } from "./drawing";
import { keyText, time, whole } from "./format";
import { t } from "./i18n";
import { settings } from "./policies";
import { Traffic } from "./traffic";
import { BeforeAfter, by, Dialog, Empty, ErrorNote, Field, Key, say, Table, useLoad } from "./ui";
import type { ActiveChange, Override, PolicyView } from "./types";

interface PageProps {
  name: string;
  administers: boolean;
}

export function PolicyPage({ name, administers }: PageProps) {
  const policy = useLoad<PolicyView>((signal) => get("policies/" + encodeURIComponent(name), signal), [name], 3000);
  const [clearing, clear] = useState<ActiveChange | null>(null);
  const view = policy.value;
  const gone = policy.error instanceof Problem && policy.error.status === 404;
  return (
    <>
      <h1 tabIndex={-1}>
        {t("policy")} <bdi>{name}</bdi>
      </h1>
      {policy.error !== null && <ErrorNote error={policy.error} again={gone ? undefined : policy.reload} />}
      {view && !gone && (
        <>
          <Limits view={view} administers={administers} clear={clear} />
          <Traffic policy={name} administers={administers} />
          <Candidate view={view} administers={administers} reload={policy.reload} />
          <Overrides view={view} administers={administers} clear={clear} />
        </>
      )}
      {clearing && <Clear change={clearing} close={() => clear(null)} done={policy.reload} />}
    </>
  );
}

function Limits({ view, administers, clear }: { view: PolicyView; administers: boolean; clear: (change: ActiveChange) => void }) {
  const { in_force: now, change } = view;
  return (
    <section class="panel">
      <h2>{t("inForce")}</h2>
      <div class="limits">
        {now.limits.length === 0 && <Empty>{t("none")}</Empty>}
        {now.limits.map((limit, i) => (
          <div key={i}>
            <p>
              <code class="limit">{limit}</code>
            </p>
            <Drawing limit={limit} candidate={now.candidate} />
          </div>
        ))}
      </div>
      <p>{settings(now).join(", ") || t("defaults")}</p>
      {change ? (
        <p class="note">
          {t("changeOnTop", { author: by(change), at: time(change.at) })} <BeforeAfter {...change} />
          {change.reason && <> · {change.reason}</>} · {change.expires ? t("endsAt", { at: time(change.expires) }) : t("untilCleared")}{" "}
          {administers && (
            <button type="button" onClick={() => clear(change)}>
              {t("clearChange")}
            </button>
          )}
        </p>
      ) : (
        <p class="dim">{t("asFile")}</p>
      )}
    </section>
  );
}

const PAGE = 50;

function Overrides({ view, administers, clear }: { view: PolicyView; administers: boolean; clear: (change: ActiveChange) => void }) {
  const [part, setPart] = useState("");
  const all = (view.overrides ?? []).filter((o) => o.key.toLowerCase().includes(part.toLowerCase()));
  const source = (o: Override) =>
    o.change
      ? t("changedBy", { author: by(o.change) }) + (o.change.expires ? " · " + t("endsAt", { at: time(o.change.expires) }) : "") + (o.change.reason ? " · " + o.change.reason : "")
      : t("file");
  return (
    <section class="panel">
      <h2>
        {t("overrides")} <small class="dim">{whole(view.override_count)}</small>
      </h2>
      {view.override_count > PAGE && <Field label={t("findKey")} type="search" value={part} change={setPart} />}
      {all.length === 0 ? (
        <Empty>{t("noOverrides")}</Empty>
      ) : (
        <Table caption={t("overrides")} columns={["key", "limit", "source", ...(administers ? ["" as const] : [])]}>
          {all.slice(0, PAGE).map((o) => (
            <tr key={(o.of ?? "") + "/" + o.key}>
              <td>{o.key.includes("*") ? <Key of={{ key: o.key }} /> : <Key of={{ key: o.key }} policy={view.name} />}</td>
              <td>
                {o.of && <span class="tag">{o.of}</span>} {o.change ? <BeforeAfter {...o.change} /> : <code>{o.limit}</code>}
              </td>
              <td>{source(o)}</td>
              {administers && (
                <td class="act">
                  {o.change && (
                    <button type="button" aria-label={t("clearNamed", { key: o.key })} onClick={() => clear(o.change!)}>
                      {t("clear")}
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </Table>
      )}
      {all.length > PAGE && <p class="dim">{t("firstOnly", { n: PAGE, total: whole(all.length) })}</p>}
    </section>
  );
}

/** Clear ends a change, so that the file applies again. */
export function Clear({ change, close, done }: { change: ActiveChange; close: () => void; done: () => void }) {
  const signed = useSigned();
  const last = useRef(false);
  const submit = (e: Event) => {
    e.preventDefault();
    void signed.send(async () => {
      await post("changes/clear", { policy: change.policy, key: change.key, author: signed.by, reason: signed.reason });
      say(t("cleared"));
      last.current = true;
      done();
      close();
    });
  };
  return (
    <Dialog title={t("clearChange")} close={close} last={last}>
      <form onSubmit={submit}>
        <p>
          {t("policy")} <b>{change.policy}</b>
          {change.key && (
            <>
              , {t("key")} <bdi class="key">{keyText({ key: change.key })}</bdi>
            </>
          )}
        </p>
        <p>
          {t("clearMeans")} <BeforeAfter before={change.after} after={change.before} />
        </p>
        {signed.error !== null && <ErrorNote error={signed.error} />}
        <Signed {...signed} submit={t("clearChange")} close={close} />
      </form>
    </Dialog>
  );
}

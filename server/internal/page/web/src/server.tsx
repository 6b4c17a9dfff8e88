// The processes that share the store, and the operators' actions.
import { useState } from "preact/hooks";
import { get } from "./api";
import { time, whole } from "./format";
import { t, type Word } from "./i18n";
import { useLive } from "./live";
import { Clear } from "./policy";
import { BeforeAfter, by, Empty, ErrorNote, Key, PolicyLink, Table, useLoad } from "./ui";
import type { ActiveChange, Changes, History, KeyFields } from "./types";

/** member parses a process's name in its group: host, process, version, start. */
function member(name: string) {
  const [host, pid, version, started, id] = name.split("/");
  if (id === undefined) return { host: name, pid: "", version: "", started: 0 };
  return { host, pid, version, started: Number(started) * 1000 };
}

export function Processes() {
  const { last } = useLive();
  if (!last) return <Heading word="processes" loading />;
  const { processes: p, store } = last;
  const units = (n: number) => whole(n);
  return (
    <>
      <Heading word="processes" />
      <section class="panel">
        <p>{p.members.length === 0 ? t("alone", { store: store.address }) : t("sharing", { n: p.members.length, store: store.address })}</p>
        {p.count > p.members.length && p.members.length > 0 && <p class="dim">{t("countedProcesses", { n: p.count })}</p>}
        {p.members.length > 0 && (
          <Table caption={t("processes")} columns={["host", "process", "version", "since", ""]}>
            {p.members.map((name) => {
              const m = member(name);
              return (
                <tr key={name}>
                  <td>
                    <bdi>{m.host}</bdi>
                  </td>
                  <td>{m.pid}</td>
                  <td>
                    <bdi>{m.version}</bdi>
                  </td>
                  <td>{m.started > 0 && time(new Date(m.started).toISOString())}</td>
                  <td>{name === p.self && <span class="tag">{t("thisOne")}</span>}</td>
                </tr>
              );
            })}
          </Table>
        )}
      </section>
      <section class="panel">
        <h2>{t("leases")}</h2>
        {p.leases === null ? (
          <Empty>{t("noLeases")}</Empty>
        ) : (
          <>
            <p>{t("leasesMean")}</p>
            <dl class="figures">
              {(
                [
                  ["taken", p.leases.taken],
                  ["spent", p.leases.spent],
                  ["returned", p.leases.returned],
                  ["lostUnits", p.leases.lost],
                ] as [Word, number][]
              ).map(([word, n]) => (
                <div class="panel" key={word}>
                  <dt>{t(word)}</dt>
                  <dd class="num">{units(n)}</dd>
                </div>
              ))}
            </dl>
            <p class="dim">{p.leases.processes > 0 ? t("leaseProcesses", { n: p.leases.processes }) : t("leaseUnknown")}</p>
          </>
        )}
      </section>
    </>
  );
}

function Heading({ word, loading }: { word: Word; loading?: boolean }) {
  return (
    <>
      <h1 tabIndex={-1}>{t(word)}</h1>
      {loading && <p class="dim">{t("waiting")}</p>}
    </>
  );
}

/** ofChange shows the key of a change: a link, unless it is a pattern. */
function ofChange(c: KeyFields & { policy?: string }) {
  if (!c.key && !c.key_base64) return <span class="dim">{t("wholePolicy")}</span>;
  return <Key of={c} policy={c.key?.includes("*") ? undefined : c.policy} />;
}

export function Changes({ administers }: { administers: boolean }) {
  const changes = useLoad<Changes>((signal) => get("changes", signal), [], 2000);
  const history = useLoad<History>((signal) => get("history", signal), [], 2000);
  const [clearing, clear] = useState<ActiveChange | null>(null);
  const all = changes.value?.changes;
  return (
    <>
      <Heading word="changes" />
      <section class="panel">
        <h2>
          {t("changesInForce")} {all && <small class="dim">{whole(all.length)}</small>}
        </h2>
        {changes.error !== null && <ErrorNote error={changes.error} again={changes.reload} />}
        {all?.length === 0 && <Empty>{t("noChanges")}</Empty>}
        {all && all.length > 0 && (
          <Table caption={t("changesInForce")} columns={["policy", "key", "beforeAfter", "changer", "reason", "since", "ends", ...(administers ? ["" as const] : [])]}>
            {all.slice(0, 200).map((c) => (
              <tr key={c.policy + "\0" + (c.key ?? "")}>
                <td>
                  <PolicyLink name={c.policy} />
                </td>
                <td>{ofChange(c)}</td>
                <td>
                  {c.ignored ? (
                    <>
                      <span class="tag">{t("ignored")}</span> <bdi>{c.ignored}</bdi>
                    </>
                  ) : (
                    <BeforeAfter {...c} />
                  )}
                </td>
                <td>
                  <bdi>{by(c)}</bdi>
                </td>
                <td>
                  <bdi>{c.reason}</bdi>
                </td>
                <td>{time(c.at)}</td>
                <td>{c.expires ? time(c.expires) : t("untilCleared")}</td>
                {administers && (
                  <td class="act">
                    <button type="button" aria-label={t("clearNamed", { key: c.key || c.policy })} onClick={() => clear(c)}>
                      {t("clear")}
                    </button>
                  </td>
                )}
              </tr>
            ))}
          </Table>
        )}
        {all && all.length > 200 && <p class="dim">{t("firstOnly", { n: 200, total: whole(all.length) })}</p>}
      </section>
      <section class="panel">
        <h2>{t("history")}</h2>
        <p class="dim">{t("historyMeans")}</p>
        {history.error !== null && <ErrorNote error={history.error} again={history.reload} />}
        {history.value?.actions.length === 0 && <Empty>{t("noHistory")}</Empty>}
        {history.value && history.value.actions.length > 0 && (
          <Table caption={t("history")} columns={["when", "changer", "action", "policy", "key", "beforeAfter", "reason"]}>
            {history.value.actions.slice(0, 200).map((a, i) => (
              <tr key={i}>
                <td>{time(a.at)}</td>
                <td>
                  <bdi>{by(a)}</bdi>
                </td>
                <td>{a.action}</td>
                <td>{a.policy && <PolicyLink name={a.policy} />}</td>
                <td>{a.policy && ofChange(a)}</td>
                <td>
                  {a.before && a.after && <BeforeAfter before={a.before} after={a.after} />}
                  {a.units !== undefined && t("nUnits", { n: a.units })}
                </td>
                <td>
                  <bdi>{a.reason}</bdi>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </section>
      {clearing && <Clear change={clearing} close={() => clear(null)} done={() => (changes.reload(), history.reload())} />}
    </>
  );
}

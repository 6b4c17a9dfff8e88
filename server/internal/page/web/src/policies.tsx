// The policies in force: found by name, a page at a time.
import { useState } from "preact/hooks";
import { get } from "./api";
import { whole } from "./format";
import { t } from "./i18n";
import { by, Empty, ErrorNote, Field, PolicyLink, Table, useLoad } from "./ui";
import type { PolicyView, Summary } from "./types";

const PAGE = 50;

interface Answer {
  total: number;
  policies: PolicyView[];
}

export function Policies() {
  const [name, setName] = useState("");
  const [from, setFrom] = useState(1);
  const list = useLoad<Answer>((signal) => get("policies?" + new URLSearchParams({ name, from: String(from), n: String(PAGE) }), signal), [name, from], 5000);
  const search = (text: string) => {
    setName(text);
    setFrom(1);
  };
  const answer = list.value;
  return (
    <>
      <h1 tabIndex={-1}>{t("policies")}</h1>
      <section class="panel">
        <div class="toolbar" role="search">
          <Field label={t("findPolicy")} type="search" value={name} change={search} />
          {answer && (
            <p class="dim" aria-live="polite">
              {t("found", { n: whole(answer.total) })}
            </p>
          )}
        </div>
        {list.error !== null && <ErrorNote error={list.error} again={list.reload} />}
        {answer && answer.policies.length === 0 && <Empty>{name === "" ? t("noPolicies") : t("noPolicyNamed", { name })}</Empty>}
        {answer && answer.policies.length > 0 && (
          <>
            <Table caption={t("policies")} columns={["policy", "limits", "settings", "#overrides", "source"]}>
              {answer.policies.map((p) => (
                <tr key={p.name}>
                  <td>
                    <PolicyLink name={p.name} />
                  </td>
                  <td>
                    <code>{p.in_force.limits.join(" + ") || t("none")}</code>
                  </td>
                  <td>{settings(p.in_force).join(", ")}</td>
                  <td class="num">{whole(p.override_count)}</td>
                  <td>{p.change ? <span class="tag">{t("changedBy", { author: by(p.change) })}</span> : t("file")}</td>
                </tr>
              ))}
            </Table>
            <Pages from={from} total={answer.total} go={setFrom} />
          </>
        )}
      </section>
    </>
  );
}

/** settings returns the settings that differ from the defaults. */
export function settings(p: Summary): string[] {
  const all = [];
  if (p.shadow) all.push(t("isShadow"));
  if (p.candidate) all.push(t("hasCandidate"));
  if (!p.enabled) all.push(t("notEnabled"));
  if (p.mode !== "exact") all.push(t("modeIs", { mode: p.mode }));
  if (p.failure !== "local") all.push(t("failureIs", { failure: p.failure }));
  if (p.classes) all.push(t("classesAre", { classes: p.classes.join(" > ") }));
  if (p.unit) all.push(t("unitIs", { unit: p.unit }));
  if (p.cost !== 1) all.push(t("costIs", { cost: p.cost }));
  return all;
}

function Pages({ from, total, go }: { from: number; total: number; go: (from: number) => void }) {
  if (total <= PAGE) return null;
  const to = Math.min(from + PAGE - 1, total);
  return (
    <nav class="pages" aria-label={t("pages")}>
      <button type="button" disabled={from === 1} onClick={() => go(Math.max(1, from - PAGE))}>
        {t("previous")}
      </button>
      <span class="num">{t("range", { from: whole(from), to: whole(to), total: whole(total) })}</span>
      <button type="button" disabled={to === total} onClick={() => go(from + PAGE)}>
        {t("next")}
      </button>
    </nav>
  );
}

// The frame of the page: the token's rights, the page shown, and whether it is live.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, Problem, setToken, token } from "./api";
import { language, setLanguage, t, type Word } from "./i18n";
import { KeyPage } from "./key";
import { follow, unfollow, useLive } from "./live";
import { modeOf, Overview } from "./overview";
import { Policies } from "./policies";
import { PolicyPage } from "./policy";
import { Changes, Processes } from "./server";
import { Announcer, ErrorNote, Field, toHeading, words } from "./ui";
import "./style.css";
import type { Access, KeyFields } from "./types";

interface Route {
  page: "overview" | "policies" | "policy" | "key" | "processes" | "changes";
  name: string;
  query: URLSearchParams;
}

function route(): Route {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = path.split("/");
  const of = { name: "", query: new URLSearchParams(query) };
  if (page === "policies" && rest.length > 0) {
    try {
      return { ...of, page: "policy", name: decodeURIComponent(rest.join("/")) };
    } catch {
      return { ...of, page: "policies" };
    }
  }
  const known = ["policies", "key", "processes", "changes"] as const;
  return { ...of, page: known.find((k) => k === page) ?? "overview" };
}

function useRoute(): Route {
  const [now, set] = useState(route());
  useEffect(() => {
    const changed = () => set(route());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return now;
}

const links: [Route["page"], string, Word][] = [
  ["overview", "#/", "overview"],
  ["policies", "#/policies", "policies"],
  ["key", "#/key", "key"],
  ["processes", "#/processes", "processes"],
  ["changes", "#/changes", "changes"],
];

function App() {
  const at = useRoute();
  const live = useLive();
  const [access, setAccess] = useState<Access | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [, setTongue] = useState(language());
  const enter = async () => {
    setError(null);
    try {
      const access = await get<Access>("access");
      setAccess(access);
      void follow();
    } catch (e) {
      setAccess(null);
      setError(e);
    }
  };
  useEffect(() => void enter(), []);
  // Removing a token from the file ends its stream.
  useEffect(() => {
    if (live.state === "refused") {
      setAccess(null);
      setError(live.problem);
    }
  }, [live.state]);
  const leave = () => {
    setToken("");
    unfollow();
    setAccess(null);
    void enter();
  };
  const refused = error instanceof Problem && error.status === 401;
  return (
    <>
      <a class="skip" href="#content" onClick={(e) => (e.preventDefault(), toHeading())}>
        {t("skip")}
      </a>
      <header>
        <a class="brand" href="#/">
          Headgate
        </a>
        {access && (
          <nav aria-label={t("pagesOfThis")}>
            {links.map(([page, href, word]) => {
              const here = page === at.page || (page === "policies" && at.page === "policy");
              return (
                <a key={page} href={href} aria-current={here ? "page" : undefined}>
                  {t(word)}
                </a>
              );
            })}
          </nav>
        )}
        <div class="tools">
          {access && <Answering />}
          {access && <State />}
          {access && <span class="tag">{t(access.administers ? "administers" : "readOnly")}</span>}
          {access && token() !== "" && (
            <button type="button" class="quiet" onClick={leave}>
              {t("signOut")}
            </button>
          )}
          <button
            type="button"
            class="quiet"
            lang={language() === "en" ? "zh-Hans" : "en"}
            onClick={() => {
              setLanguage(language() === "en" ? "zh" : "en");
              setTongue(language());
            }}
          >
            {language() === "en" ? "中文" : "English"}
          </button>
        </div>
      </header>
      <main id="content" key={language()}>
        {access ? <Page at={at} access={access} /> : refused ? <SignIn enter={enter} error={token() === "" ? null : error} /> : error !== null && <ErrorNote error={error} again={enter} />}
      </main>
      <footer>{access && <span class="dim">{"Headgate " + access.version}</span>}</footer>
      <Announcer />
    </>
  );
}

/** State shows in the header whether the page is live, and how decisions are made. */
function State() {
  const { state, last } = useLive();
  const bad = state === "lost" || (last !== null && modeOf(last) === "away");
  const word: Word = state === "lost" ? "lost" : !last ? "connecting" : bad ? "storeAway" : "live";
  return (
    <span class={"live " + (bad ? "bad" : last ? "good" : "")} role="status">
      {t(word)}
    </span>
  );
}

/** Answering names the server whose numbers the page shows, until one page shows all servers. */
function Answering() {
  const server = useLive().last?.server;
  return server ? <bdi class="server">{t("serverIs", { name: server.name, of: server.of || "?" })}</bdi> : null;
}

function Page({ at, access }: { at: Route; access: Access }) {
  const first = useRef(true);
  const where = at.page + at.name + at.query;
  useEffect(() => {
    document.title = t(at.page) + (at.name ? " " + at.name : "") + " – Headgate";
    if (first.current) first.current = false;
    else toHeading();
    scrollTo(0, 0);
  }, [where]);
  const administers = access.administers;
  switch (at.page) {
    case "policies":
      return <Policies />;
    case "policy":
      return <PolicyPage key={at.name} name={at.name} administers={administers} />;
    case "key": {
      const key = at.query.get("key");
      const base64 = at.query.get("base64");
      const of: KeyFields | null = base64 ? { key_base64: base64 } : key ? { key } : null;
      return <KeyPage key={where} of={of} policy={at.query.get("policy") ?? ""} administers={administers} />;
    }
    case "processes":
      return <Processes />;
    case "changes":
      return <Changes administers={administers} />;
    default:
      return <Overview administers={administers} />;
  }
}

function SignIn({ enter, error }: { enter: () => Promise<void>; error: unknown }) {
  const [text, setText] = useState("");
  const submit = (e: Event) => {
    e.preventDefault();
    setToken(text.trim());
    void enter();
  };
  return (
    <form class="panel signin" onSubmit={submit}>
      <h1 tabIndex={-1}>{t("signIn")}</h1>
      <p>{t("signInMeans")}</p>
      <Field label={t("token")} type="password" value={text} change={setText} required />
      {error !== null && (
        <p class="bad" role="alert">
          {words(error)}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary">
          {t("enter")}
        </button>
      </div>
    </form>
  );
}

setLanguage(language());
render(<App />, document.getElementById("page")!);

// Parts that every page uses.
import { cloneElement, type ComponentChildren, toChildArray, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Problem } from "./api";
import { cut, keyText } from "./format";
import { t, type Word } from "./i18n";
import type { KeyFields } from "./types";

/** say announces an event, also to screen readers. */
let heard: (text: string) => void = () => {};
export const say = (text: string) => heard(text);

/** Announcer shows the text passed to say for a few seconds. */
export function Announcer() {
  const [said, set] = useState({ text: "" });
  useEffect(() => {
    heard = (text) => set({ text });
    if (said.text === "") return;
    // The timer can fire after the next text was said and before this effect ends. It must not hide that text.
    const timer = setTimeout(() => set((now) => (now === said ? { text: "" } : now)), 6000);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <div class={"announcer" + (said.text ? " shown" : "")} role="status" aria-live="polite">
      {said.text}
    </div>
  );
}

/** words describes an error in words. */
export function words(e: unknown): string {
  if (!(e instanceof Problem)) return String(e);
  switch (e.status) {
    case 0:
      return t("errorReach");
    case 401:
      return t("errorToken");
    case 403:
      return t("errorForbidden", { detail: e.message });
    case 409:
      return t("errorConflict");
    default:
      return e.message;
  }
}

export function ErrorNote({ error, again }: { error: unknown; again?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <p>{words(error)}</p>
      {again && (
        <button type="button" onClick={again}>
          {t("again")}
        </button>
      )}
    </div>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;

/** keyLink returns the address of a key's page. */
export function keyLink(policy: string, k: KeyFields): string {
  const query = new URLSearchParams({ policy });
  if (k.key_base64) query.set("base64", k.key_base64);
  else query.set("key", k.key ?? "");
  return "#/key?" + query;
}

/** Key shows a key as text: whatever it contains, it is never markup. A link to a long key shows its beginning and hash. */
export function Key({ of, policy }: { of: KeyFields & { key_hash?: string }; policy?: string }) {
  const text = keyText(of);
  if (policy === undefined) return <bdi class="key">{text}</bdi>;
  return (
    <a href={keyLink(policy, of)} title={text}>
      <bdi class="key">{cut(text, of.key_hash ? 34 : undefined) + (of.key_hash ? " " + of.key_hash : "")}</bdi>
    </a>
  );
}

export const PolicyLink = ({ name }: { name: string }) =>
  name.startsWith("(") ? <span class="dim">{name}</span> : <a href={"#/policies/" + encodeURIComponent(name)}>{name}</a>;

interface TableProps {
  caption: string;
  /** columns are the headers; numeric ones begin with #. */
  columns: (Word | `#${Word}` | "")[];
  /** moves is for rows that change places. They stay still while the keyboard focus is in them, so that it keeps its place. */
  moves?: boolean;
  children: ComponentChildren;
}

/** Table shows rows of cells. On a narrow screen each row is a list, and each cell has its column's name. */
export function Table({ caption, columns, moves, children }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const rows = useRef(children);
  const still = moves && body.current?.querySelector(":focus-visible");
  if (!still) rows.current = children;
  const names = columns.map((c) => c && t(c.replace("#", "") as Word));
  const cell = (of: ComponentChildren, i: number) => cloneElement(of as VNode<{ "data-name"?: string }>, { "data-name": names[i] || undefined });
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((c, i) => (
              <th key={i} scope="col" class={c.startsWith("#") ? "num" : undefined}>
                {names[i] || <span class="hidden">{t("actions")}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {toChildArray(rows.current).map((row) => {
            const { props } = row as VNode<{ children: ComponentChildren }>;
            return cloneElement(row as VNode, {}, toChildArray(props.children).map(cell));
          })}
        </tbody>
      </table>
      {still && <p class="dim">{t("still")}</p>}
    </div>
  );
}

/** by says who changed something: the name that the operator wrote, and the user that the server knows. */
export const by = (c: { author?: string; user?: string }) =>
  c.author && c.user ? t("signedInAs", { author: c.author, user: c.user }) : c.author || c.user || "";

/** BeforeAfter shows a change as text. */
export const BeforeAfter = ({ before, after }: { before: string; after: string }) => (
  <>
    <code>{before}</code> → <code>{after}</code>
  </>
);

/** toHeading moves the focus to the start of a page, where screen readers continue. */
export const toHeading = () => document.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });

interface DialogProps {
  title: string;
  close: () => void;
  /** last is set when the button that opened the dialog disappears with it. */
  last?: { current: boolean };
  children: ComponentChildren;
}

/** Dialog is modal: the browser keeps the focus inside, Escape closes it, and the focus returns to its button. */
export function Dialog({ title, close, last, children }: DialogProps) {
  const host = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = host.current!;
    dialog.showModal();
    return () => {
      dialog.close();
      if (last?.current || document.activeElement === document.body) toHeading();
    };
  }, []);
  return (
    <dialog ref={host} onClose={close} aria-labelledby="dialog-title">
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

interface FieldProps {
  label: string;
  hint?: string;
  value: string;
  change: (value: string) => void;
  type?: "text" | "search" | "number" | "password";
  required?: boolean;
}

let ids = 0;

export function Field({ label, hint, value, change, type, required }: FieldProps) {
  const [id] = useState(() => "field-" + ++ids);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type={(type ?? "text") as "text"}
        value={value}
        required={required}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint && id + "-hint"}
        onInput={(e) => change(e.currentTarget.value)}
      />
      {hint && (
        <p class="hint" id={id + "-hint"}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: [string, string][];
  change: (value: string) => void;
}

export function Choice({ label, value, options, change }: ChoiceProps) {
  const [id] = useState(() => "field-" + ++ids);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(e) => change(e.currentTarget.value)}>
        {options.map(([v, text]) => (
          <option key={v} value={v}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export interface Loaded<T> {
  value: T | null;
  error: unknown;
  reload: () => void;
}

/** useLoad loads a value, again when its dependencies change, and every few seconds while the
 * page is visible. A loaded value stays until the next one has arrived. */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, on: unknown[], every = 0): Loaded<T> {
  const [state, set] = useState<{ value: T | null; error: unknown }>({ value: null, error: null });
  const [turn, next] = useState(0);
  useEffect(() => set({ value: null, error: null }), on);
  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const run = async () => {
      try {
        if (!document.hidden) {
          const value = await load(control.signal);
          if (!control.signal.aborted) set({ value, error: null });
        }
      } catch (error) {
        if (!control.signal.aborted) set((before) => ({ value: before.value, error }));
      }
      if (every > 0 && !control.signal.aborted) timer = window.setTimeout(run, every);
    };
    void run();
    return () => {
      control.abort();
      clearTimeout(timer);
    };
  }, [...on, turn]);
  return { ...state, reload: () => next((n) => n + 1) };
}

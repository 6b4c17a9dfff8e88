// The texts of the page in two languages.
import { en } from "./en";
import { zh } from "./zh";

export type Word = keyof typeof en;
export type Language = "en" | "zh";

const LANGUAGE = "headgate.language";
const all: Record<Language, Record<Word, string>> = { en, zh };

let current: Language = start();

function start(): Language {
  const kept = localStorage.getItem(LANGUAGE);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.startsWith("zh") ? "zh" : "en";
}

export const language = () => current;

export function setLanguage(l: Language) {
  current = l;
  localStorage.setItem(LANGUAGE, l);
  document.documentElement.lang = l === "zh" ? "zh-Hans" : "en";
}

/** t returns a text with each {name} replaced by its value. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  return all[current][word].replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

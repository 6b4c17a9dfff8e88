// The stream of events: one snapshot a second, over fetch, because an EventSource cannot
// send a token.
import { useEffect, useState } from "preact/hooks";
import { Problem, request } from "./api";
import type { Second, Snapshot } from "./types";

/** SECONDS is the number of seconds that the charts show. */
export const SECONDS = 300;
/** SILENCE is the time in ms without an event after which the stream counts as lost. */
const SILENCE = 4000;

export interface Live {
  /** state is lost while the page tries to reconnect. */
  state: "connecting" | "open" | "lost" | "refused";
  seconds: Second[];
  last: Snapshot | null;
  /** problem is the reason why there is no stream. */
  problem: Problem | null;
}

let live: Live = { state: "connecting", seconds: [], last: null, problem: null };
const listeners = new Set<(l: Live) => void>();
let stop: AbortController | null = null;

function set(change: Partial<Live>) {
  live = { ...live, ...change };
  listeners.forEach((heard) => heard(live));
}

/** useLive returns the stream, and renders again at each event. */
export function useLive(): Live {
  const [now, setNow] = useState(live);
  useEffect(() => {
    listeners.add(setNow);
    setNow(live);
    return () => void listeners.delete(setNow);
  }, []);
  return now;
}

/** follow reads the stream until unfollow, and reconnects when it ends. */
export async function follow() {
  stop?.abort();
  const mine = new AbortController();
  stop = mine;
  set({ state: "connecting", problem: null });
  for (let failures = 0; !mine.signal.aborted; failures++) {
    try {
      await read(mine.signal, () => (failures = 0));
      set({ state: "lost", problem: null });
    } catch (e) {
      if (mine.signal.aborted) return;
      const problem = e instanceof Problem ? e : null;
      if (problem && (problem.status === 401 || problem.status === 403)) {
        set({ state: "refused", problem });
        return;
      }
      set({ state: "lost", problem });
    }
    await new Promise((done) => setTimeout(done, Math.min(500 * 2 ** failures, 5000)));
  }
}

export function unfollow() {
  stop?.abort();
  live = { state: "connecting", seconds: [], last: null, problem: null };
}

async function read(signal: AbortSignal, heard: () => void) {
  const own = new AbortController();
  const end = () => own.abort();
  signal.addEventListener("abort", end);
  let silence = setTimeout(end, SILENCE);
  try {
    const answer = await request("events", { signal: own.signal });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(silence);
      silence = setTimeout(end, SILENCE);
      const events = (rest + value).split("\n\n");
      rest = events.pop()!;
      for (const event of events) take(event);
      if (events.length > 0) heard();
    }
  } finally {
    clearTimeout(silence);
    signal.removeEventListener("abort", end);
    own.abort();
  }
}

function take(event: string) {
  const lines = event.split("\n");
  const name = lines.find((l) => l.startsWith("event: "))?.slice(7);
  const data = lines.find((l) => l.startsWith("data: "))?.slice(6);
  if (!data) return;
  if (name === "history") {
    set({ state: "open", problem: null, seconds: JSON.parse(data).seconds.slice(-SECONDS) });
  } else if (name === "snapshot") {
    const last: Snapshot = JSON.parse(data);
    set({ state: "open", problem: null, last, seconds: [...live.seconds, last].slice(-SECONDS) });
  }
}

// The calls of the admin API (docs/reference/admin.yaml), below the path of the page.

const TOKEN = "headgate.token";

/** Problem is an error of the API, as RFC 9457 defines it. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly field = "",
  ) {
    super(detail);
  }
}

export function token(): string {
  return sessionStorage.getItem(TOKEN) ?? "";
}

/** setToken keeps the token until the tab is closed; "" forgets it. */
export function setToken(text: string) {
  if (text === "") sessionStorage.removeItem(TOKEN);
  else sessionStorage.setItem(TOKEN, text);
}

function headers(): Record<string, string> {
  const given = token();
  return given === "" ? {} : { Authorization: "Bearer " + given };
}

/** request sends a call and returns its answer, or throws a Problem. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch("admin/v1/" + path, { ...init, headers: { ...headers(), ...init.headers }, cache: "no-store" });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new Problem(0, "");
  }
  if (answer.ok) return answer;
  let detail = answer.status + " " + answer.statusText;
  let field = "";
  try {
    const problem = await answer.json();
    detail = problem.detail || detail;
    field = problem.field || "";
  } catch {
    // An answer without a problem comes from something between this page and the server.
  }
  throw new Problem(answer.status, detail, field);
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await request(path, { signal })).json();
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal };
  return (await request(path, init)).json();
}

export interface Access {
  administers: boolean;
  hashed_keys: boolean;
  version: string;
  /** program says that a Go program answers that limits by itself, without a server. */
  program?: boolean;
}

/** answering is what answers this page. A program has no latency, processes and changes. */
export const answering = { program: false };

export interface KeyFields {
  key?: string;
  key_base64?: string;
}

export interface Change extends KeyFields {
  policy: string;
  fields: unknown;
  author: string;
  reason?: string;
  at: string;
  expires?: string;
  version: number;
}

export interface Summary {
  name: string;
  limits: string[];
  failure: string;
  mode: string;
  headers: string;
  cost: number;
  shadow: boolean;
  candidate?: string;
  enabled: boolean;
  overrides?: { key: string; limit: string }[];
}

export interface Override {
  key: string;
  limit: string;
  file?: string;
  change: Change | null;
}

export interface PolicyView {
  name: string;
  in_force: Summary;
  file: Summary | null;
  change: Change | null;
  overrides?: Override[];
  override_count: number;
}

export interface Trial {
  policies: { name: string; before: Summary | null; after: Summary }[];
}

export interface Standing {
  policy: string;
  /** combined says that the policy has several limits: an override of a key is deny or unlimited. */
  combined?: boolean;
  /** target is what an override of the limit names, if it is not the policy. */
  target?: string;
  limit: string;
  rule?: string;
  from: string;
  change?: Change;
  shadow: boolean;
  decides: boolean;
  allowed: boolean;
  capacity?: number;
  remaining?: number;
  retry_after_ms?: number;
  reset_after_ms: number;
  frees_at?: string;
  state: boolean;
  mode?: string;
  error?: string;
}

export interface Explanation extends KeyFields {
  policy: string;
  combined?: boolean;
  counted_as?: string;
  old_secret?: boolean;
  override_unknown?: boolean;
  cost: number;
  allowed: boolean;
  frees_at?: string;
  never?: boolean;
  limits: Standing[];
}

export interface Decided {
  policy: string;
  at: string;
  outcome: "allowed" | "denied" | "failed";
  mode?: string;
  cost: number;
  limit: number;
  remaining: number;
  retry_after_ms?: number;
  frontend: string;
  counts: number;
}

export interface Action extends KeyFields {
  at: string;
  action: string;
  policy?: string;
  author?: string;
  reason?: string;
  fields?: unknown;
  expires?: string;
  units?: number;
}

export interface TopKey extends KeyFields {
  policy: string;
  count: number;
  least: number;
  most: number;
  per_second: number;
  cut: boolean;
}

export interface TopKeys {
  by: string;
  span_seconds: number;
  sampled: boolean;
  keys: TopKey[];
}

export interface Rates {
  allowed: number;
  denied: number;
  unknown: number;
  invalid: number;
}

export interface Second extends Rates {
  at_ms: number;
  p50_us?: number;
  p99_us?: number;
  policies: (Rates & { policy: string })[];
}

export interface Snapshot extends Second {
  modes: Record<string, number>;
  store: { address: string; away: boolean; away_ms: number; outages: number; unknown: number; losses: number; keys?: number };
  top_requests: TopKeys;
  top_refusals: TopKeys;
  processes: {
    count: number;
    members: string[];
    own: string;
    leases: { taken: number; spent: number; returned: number; lost: number; processes: number } | null;
  };
  generation: number;
  policy_count: number;
  change_count: number;
}

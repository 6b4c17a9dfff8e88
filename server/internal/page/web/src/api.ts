// The calls of the admin API (docs/reference/admin.yaml), below the path of the page.

const TOKEN = "headgate.token";

/** Problem is an error from the API, as in RFC 9457. */
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

/** setToken stores the token until the tab is closed. "" removes it. */
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
    // An error without a problem comes from something between this page and the server.
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


// The order of the pages. A page of docs/ that is not here, or not on the start page, is an error.
import { readdirSync, readFileSync } from "node:fs";

const groups = {
  Tasks: {
    Start: "start",
    "Protect an API by plan": "plans",
    "Limit sign-ins": "sign-ins",
    "Share a vendor's quota": "vendor-quota",
    "Put it before an upstream": "upstream",
    "A gateway for language models": "language-models",
    "One limit for many: shares, classes, penalties": "fair-shares",
    "Find the right number": "find-limits",
    "Survive an outage of Redis": "outages",
    Upgrade: "upgrading",
    "Included quota, then credits": "credits",
    "Limits that follow load": "adaptive",
    "Operate it": "operating",
  },
  Replace: {
    "Change over": "changing-over",
    "Proxies, gateways, frameworks": "migrating-from-proxies",
    "Go limiters and redis-cell": "migrating-from-other-limiters",
    "envoyproxy/ratelimit": "migrating-from-envoyproxy-ratelimit",
    "Guava's RateLimiter": "migrating-from-guava",
    "Spring Cloud Gateway": "migrating-from-spring-cloud-gateway",
  },
  Concepts: {
    "Which algorithm": "concepts/algorithms",
  },
  "Reference: programs": {
    Go: "reference/go",
    Adapters: "reference/adapters",
    "Python, Java, Node, shell": "reference/languages",
    Verbs: "reference/verbs",
    HTTP: "reference/http",
    RESP: "reference/resp",
    Errors: "reference/errors",
  },
  "Reference: limits": {
    "Limits as text": "reference/limits",
    "Policies file": "reference/policies",
    Routes: "reference/routes",
    "Testing policies": "reference/testing-policies",
    "Changing limits and policies": "reference/changing-limits",
    Promises: "reference/promises",
    Bounds: "reference/bounds",
  },
  "Reference: server": {
    "Commands and flags": "reference/flags",
    "Running it": "reference/running",
    "Redis and Valkey": "reference/redis",
    Gateway: "reference/gateway",
    "With a proxy": "reference/authorize",
    Replay: "reference/replay",
    Users: "reference/users",
    "Keys as hashes": "reference/hashed-keys",
    "Admin listener": "reference/admin",
    "Page for operators": "reference/dashboard",
    Metrics: "reference/metrics",
    Traces: "reference/traces",
  },
  More: { Glossary: "glossary", "Figures: tests, faults, speed": "figures" },
  "For contributors": {
    Testing: "design/testing",
    Rules: "design/rules",
    "Known bugs": "design/known-bugs",
    Arithmetic: "design/arithmetic",
    "Store contract": "design/store",
    Redis: "design/redis",
    Keys: "design/keys",
    Coordinator: "design/coordinator",
    Speed: "design/speed",
    Server: "design/server",
    Envoy: "design/envoy",
    Simulator: "design/simulator",
    Threats: "design/threats",
    Packages: "design/house",
  },
};

/** sidebar returns the groups in VitePress's form. The first three are open. */
export function sidebar(docs) {
  const listed = new Set(["README", ...Object.values(groups).flatMap(Object.values)]);
  const missing = readdirSync(docs, { recursive: true })
    .filter((name) => name.endsWith(".md") && !listed.has(name.slice(0, -3)));
  if (missing.length) throw new Error("sidebar.mjs does not list " + missing);
  const start = readFileSync(docs + "/README.md", "utf8");
  const absent = [...listed].filter((name) => name !== "README" && !start.includes(`(${name}.md)`));
  if (absent.length) throw new Error("docs/README.md does not list " + absent);
  return Object.entries(groups).map(([text, pages], place) => ({
    text,
    collapsed: place >= 3,
    items: Object.entries(pages).map(([text, page]) => ({ text, link: "/" + page })),
  }));
}

// Made from internal/adminapi by `go test . -update` in dashboard/: change it there.

/** KeyFields are a key: as text, or as base64 if it is not valid UTF-8. */
export interface KeyFields {
  key?: string;
  key_base64?: string;
}

/** KeyAndPolicy asks about a key under a policy, or under each if Policy is "". */
export interface KeyAndPolicy extends KeyFields {
  policy?: string;
}

/** KeyAndCost is KeyAndPolicy with units, nil are those of the policy, and with the class of a request. */
export interface KeyAndCost extends KeyAndPolicy {
  cost?: number;
  class?: string;
}

/** Units are units of a key that an operator gives back, or resets. */
export interface Units extends KeyAndPolicy {
  units?: number;
  author: string;
  reason?: string;
}

/** Given answers a give. */
export interface Given {
  remaining: number;
  unlimited: boolean;
}

/** Reset answers a reset. Found is true if the store had something of the key. */
export interface Reset {
  found: boolean;
}

/** Summary is a policy as text. */
export interface Summary {
  name: string;
  limits: string[];
  /** First is true if the first of the limits that has room pays. It is false if all are charged. */
  first?: boolean;
  failure: string;
  mode: string;
  headers: string;
  cost: number;
  shadow: boolean;
  candidate?: string;
  enabled: boolean;
  /** Unit is what a unit is, such as tokens. */
  unit?: string;
  /** Classes are the classes of requests in order, such as "batch leaves 10%". */
  classes?: string[];
  /** EstimateMax is capacity if a reserve takes at most what the limits ever let pass. */
  estimate_max?: string;
  /** SettleWithin is how long a reservation can be settled, and Unsettled what becomes of it afterwards: keep, release or estimate. */
  settle_within?: string;
  unsettled?: string;
  /** Replicas is what a charge waits for, such as 1 within 20ms. */
  replicas?: string;
  overrides?: OverrideSummary[];
}

/** OverrideSummary is the limit of a key, or of the keys that match a pattern. */
export interface OverrideSummary {
  of?: string;
  key: string;
  limit: string;
}

/** PolicyView is a policy, with the parts of the file and of the changes told apart. */
export interface PolicyView {
  name: string;
  /** InForce is the policy as it decides, and File as the file has it; nil if only a change has it. */
  in_force: Summary;
  file: Summary | null;
  /** ShadowLimits are the places of the limits in force that are shadows of other policies. */
  shadow_limits?: number[];
  /** Change is the change on top; nil if there is none. */
  change: Change | null;
  /** Overrides are those in force, at most 1000. OverrideCount is how many there are. */
  overrides?: Override[];
  override_count: number;
}

/** Override is an override in force. */
export interface Override {
  key: string;
  /** Limit is the limit in force, and File that of the file, "" if only a change has one. */
  limit: string;
  file?: string;
  change: Change | null;
}

/** Policies are a page of the policies in force; Total is how many match. */
export interface Policies {
  generation: number;
  total: number;
  policies: PolicyView[];
}

/** Change is a change of a policy or of the limit of one key, on top of the file. */
export interface Change {
  /** Policy, Key and Fields are those of the change as package policy applies it. Key is "" for a change of the policy itself. */
  policy: string;
  key?: string;
  fields: unknown;
  /** Author is the operator that made the change, and Reason why. */
  author: string;
  reason?: string;
  /** At is when the change was made; Expires is when it ends, zero if only a clear ends it. Both are by the clock of the store, if servers share one. */
  at: string;
  expires?: string;
  /** Version grows with each change of the same policy and key. */
  version: number;
}

/** Changes are all changes on top of the file. */
export interface Changes {
  changes: Change[];
}

/** ChangeName names the change that an operator ends. */
export interface ChangeName {
  policy: string;
  /** Key is nil for the change of the policy itself. */
  key?: string;
  author?: string;
  reason?: string;
}

/** NewChange is a change that an operator makes. */
export interface NewChange extends ChangeName {
  fields?: unknown;
  expires?: string;
  /** For is how long the change lasts, in place of Expires. */
  for?: string;
}

/** Trial is what a change would do: the policies that would differ. */
export interface Trial {
  policies: Difference[];
}

/** Difference is a policy before and after a change; Before is nil for a new policy. */
export interface Difference {
  name: string;
  before: Summary | null;
  after: Summary;
}

/** Shadow is what the shadow of a policy would change. */
export interface Shadow {
  policy: string;
  /** Limits decide; there are none if the policy itself is the shadow. */
  limits: string[];
  shadow: string[];
  /** Since is when these limits came into force. The counts are those since then. */
  since: string;
  both_allowed: number;
  both_denied: number;
  newly_denied: number;
  newly_allowed: number;
  unknown: number;
}

/** Shadows are all of them. */
export interface Shadows {
  shadows: Shadow[];
}

/** Error is the error of a call. */
export interface Error {
  status: number;
  detail: string;
  /** Field is the invalid field; "" if the error is not about one. */
  field?: string;
}

/** Rates are decided requests that take units, a second. */
export interface Rates {
  allowed: number;
  denied: number;
  /** Unknown were answered with an error, because the decision was not known. */
  unknown: number;
  invalid: number;
}

/** PolicyRates are those of one policy. */
export interface PolicyRates extends Rates {
  policy: string;
}

/** Second is what happened in one second. Rates are requests a second. */
export interface Second extends Rates {
  /** At is the end of the second, in ms since 1970. */
  at_ms: number;
  /** P50 and P99 are how long the calls of clients took, in µs: half of them at most P50. They are omitted if there were none. */
  p50_us?: number;
  p99_us?: number;
  /** Policies are those with the most requests, at most 20. */
  policies: PolicyRates[];
}

/** Access is what the caller may do. */
export interface Access {
  administers: boolean;
  hashed_keys: boolean;
  version: string;
  /** Program is true if a Go program answers that limits by itself, without a server. */
  program?: boolean;
}

/** Action is what an operator did. */
export interface Action extends KeyFields {
  at: string;
  action: string;
  policy?: string;
  author?: string;
  reason?: string;
  /** Fields and Expires are those of a change, Units those that were given back. */
  fields?: unknown;
  expires?: string;
  units?: number;
}

/** History is the last actions, the latest first. */
export interface History {
  actions: Action[];
}

/** Config is the settings of the process, the policies in force without their overrides, and the routes. */
export interface Config {
  settings: unknown;
  generation: number;
  changes: number;
  policies: Summary[];
  routes: unknown;
}

/** Reloaded answers a reload. */
export interface Reloaded {
  generation: number;
}

/** Level is the level of the log. */
export interface Level {
  level: string;
}

/** PastSeconds are those before a stream of events, at most 300, the latest last. */
export interface PastSeconds {
  seconds: Second[];
}

/** Snapshot is the latest second, and how the server stands. */
export interface Snapshot extends Second {
  modes: Record<string, number>;
  store: Store;
  top_requests: TopKeys;
  top_refusals: TopKeys;
  processes: Processes;
  generation: number;
  policy_count: number;
  change_count: number;
}

/** Store is the state of the store. */
export interface Store {
  /** Address is its URL without user and password. */
  address: string;
  away: boolean;
  /** AwayFor is how long it has been away, in ms. */
  away_ms: number;
  outages: number;
  /** Unknown is how many decisions were not known since the server started. */
  unknown: number;
  /** Losses is how often the store came back without its data. */
  losses: number;
  /** Keys is the number of keys in the memory store. It is omitted for other stores. */
  keys?: number;
}

/** Processes are the servers that share the store. */
export interface Processes {
  /** Count is the number of processes whose shares are equal to this one's while the store is away; 0 is not known. */
  count: number;
  /** Members are the names of processes that beat, at most 100, and Own is that of this one. Both are empty where the store is the memory of this process. */
  members: string[];
  own: string;
  /** Leases are the units that this process has taken ahead; nil if it takes none. */
  leases: Leases | null;
}

/** Leases are units that were taken ahead, since the server started. */
export interface Leases {
  taken: number;
  spent: number;
  returned: number;
  lost: number;
  /** Processes is how many processes share the units; 0 is not known, and then none are taken. */
  processes: number;
}

/** Explanation says how a key stands under a policy. */
export interface Explanation extends KeyFields {
  policy: string;
  /** Combined is true if the policy is written with all or first: an override of its keys is deny or unlimited. */
  combined?: boolean;
  /** Counted is the hash that the key is counted under. It is omitted if keys are not hashed. */
  counted_as?: string;
  /** OldSecret is true for the hash of the second secret: no request is decided by it. */
  old_secret?: boolean;
  /** OverrideUnknown is true if only a hash is known, and an override of the key itself or of a pattern may apply. */
  override_unknown?: boolean;
  cost: number;
  /** Allowed is the answer that a take of the cost would get now. */
  allowed: boolean;
  /** FreesAt is when it is allowed again, if no other request comes. It is omitted if it is allowed, or never will be. */
  frees_at?: string;
  /** Never is true if the cost is more than the limit lets through at all. */
  never?: boolean;
  /** Generation is that of the policies that this was decided by. */
  generation: number;
  limits: Standing[];
}

/** Explanations are those of a key. */
export interface Explanations {
  explanations: Explanation[];
  /** OverrideUnknown is true if that of any policy is. */
  override_unknown?: boolean;
  /** Open are the open reservations that charged the key, 100 at most: see settle_within of policies. */
  open?: Open[];
}

/** Open is a reservation that is not settled. */
export interface Open {
  id: string;
  /** EndsAt is when its time passes, and Unsettled what then becomes of it: keep, release or estimate. */
  ends_at: string;
  unsettled: string;
  charges: OpenCharged[];
}

/** OpenCharged is what an open reservation has charged to one limit. */
export interface OpenCharged extends KeyFields {
  /** Policy is omitted for a limit without a policy. */
  policy?: string;
  limit: string;
  units: number;
  /** Reported is how many units were reported as used so far. */
  reported?: number;
  /** Pending is how many units it can still charge, up to its ceiling. */
  pending?: number;
}

/** ClassStanding is how the requests of a key in one class stand under a limit. */
export interface ClassStanding {
  class: string;
  allowed: boolean;
  /** Capacity and Remaining are units of this class. They are omitted if nothing limits, or if Remaining is not known. */
  capacity?: number;
  remaining?: number;
}

/** Standing is how a key stands under one limit. */
export interface Standing {
  /** Policy is the policy that has the limit: another one if the policy names it in all or first. */
  policy: string;
  /** Combined is true if that policy is written with all or first. */
  combined?: boolean;
  /** Target is what an override of the limit names, such as free/minute. It is omitted if that is the policy. */
  target?: string;
  limit: string;
  /** Rule names the override that set this limit. It is omitted if none did. */
  rule?: string;
  /** From is where the rule is from: file or change. Change is that change. */
  from: string;
  change?: Change;
  shadow: boolean;
  /** Decides is true for the limit that the answer depends on. */
  decides: boolean;
  allowed: boolean;
  /** Class is the class that the limit is lowered for. It is omitted if the policy has none. */
  class?: string;
  /** Classes are the classes that a request of the key can have, in order. They are omitted if the policy has none. */
  classes?: ClassStanding[];
  /** Unit is what a unit is, such as tokens, if the policy says so. */
  unit?: string;
  /** Capacity and Remaining are units. They are omitted if nothing limits. */
  capacity?: number;
  remaining?: number;
  /** RetryAfter and ResetAfter are in ms, rounded up. RetryAfter is omitted if the cost passes, or never will. */
  retry_after_ms?: number;
  reset_after_ms: number;
  frees_at?: string;
  /** State is true if the store has something of the key: without that the limit is untouched. */
  state: boolean;
  mode?: string;
  /** Error says why the standing is not known. */
  error?: string;
}

/** TopKey is a key with its count. */
export interface TopKey extends KeyFields {
  policy: string;
  /** KeyHash tells long keys with the same beginning apart: see [KeyHash]. It is omitted for short keys. */
  key_hash?: string;
  /** Count is an estimate: the key was counted at least Least and at most Most times. */
  count: number;
  least: number;
  most: number;
  /** Rate is Count for each second of the span. */
  per_second: number;
}

/** TopKeys are the keys with the highest counts. */
export interface TopKeys {
  /** By is what is counted, such as requests. */
  by: string;
  /** Span is the time that was counted, in seconds. */
  span_seconds: number;
  /** Sampled is true if only a share of the events was counted. */
  sampled: boolean;
  keys: TopKey[];
}

/** LimitedKey is a key that was refused in the last minute, with its standing. */
export interface LimitedKey {
  refusals: TopKey;
  /** Explanation is omitted where the key is of no policy. */
  explanation?: Explanation;
}

/** LimitedKeys are the keys that were refused most. */
export interface LimitedKeys {
  span_seconds: number;
  sampled: boolean;
  keys: LimitedKey[];
}

/** Outcome is the answer to a request. */
export type Outcome = "allowed" | "denied" | "failed";

/** Decided is one decision on a request of a key. */
export interface Decided {
  policy: string;
  at: string;
  outcome: Outcome;
  mode?: string;
  cost: number;
  /** Limit and Remaining are those of the binding limit. */
  limit: number;
  remaining: number;
  /** RetryAfter is in ms, rounded up. It is omitted if the request was not denied, or can never pass. */
  retry_after_ms?: number;
  frontend: string;
  /** Counts is the number of requests that this entry represents: more than 1 if they were sampled. */
  counts: number;
}

/** Timeline is the last decisions on the requests of a key, the latest first. */
export interface Timeline {
  decisions: Decided[];
}

/** algorithms are the algorithms with their other names. */
export const algorithms: Record<string, string[]> = {
  "token-bucket": ["gcra", "leaky-bucket", "funnel"],
  "pacer": [],
  "fixed-window": [],
  "sliding-window": [],
  "sliding-log": [],
  "warm-up": [],
  "concurrency": [],
  "deny": [],
  "unlimited": [],
  "fair-share": [],
};

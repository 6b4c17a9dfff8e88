// Made from server/internal/adminapi by `go test ./internal/page -update` in server/: change it there.

/** KeyFields contains a key, as text or, if the key is not valid UTF-8 or contains *, as base64. The text base64:… stands for the same key: see [policy.KeyText]. */
export interface KeyFields {
  key?: string;
  key_base64?: string;
}

/** KeyAndPolicy selects a key under one policy or, if Policy is "", under every policy. */
export interface KeyAndPolicy extends KeyFields {
  policy?: string;
}

/** KeyAndCost is a KeyAndPolicy with the cost and the class of a request. If Cost is nil, the policy's cost applies. */
export interface KeyAndCost extends KeyAndPolicy {
  cost?: number;
  class?: string;
}

/** Units is an operator's request to give units to a key or to reset the key. Units is only for a give. If it is nil, the give returns the policy's cost. */
export interface Units extends KeyAndPolicy {
  units?: number;
  author: string;
  reason?: string;
}

/** Given is the answer to a give. Remaining is the number of units that the key then has. Unlimited is true if no limit applies to the key. */
export interface Given {
  remaining: number;
  unlimited: boolean;
}

/** Reset is the answer to a reset. Found is true if the store had state for the key. AllKeys is true if the policy has a limit that divides its units among keys. All keys share that limit's counter, so it was reset for all of them. */
export interface Reset {
  found: boolean;
  all_keys?: boolean;
}

/** PolicyView is a policy, with the contributions of the file and of changes shown separately. */
export interface PolicyView {
  name: string;
  /** InForce is the active policy. File is the policy in the file. It is nil if only a change defines the policy. */
  in_force: Summary;
  file: Summary | null;
  /** ShadowLimits are the indexes in InForce.Limits of the limits that never deny, because they are from shadow policies that "all" or "first" includes. */
  shadow_limits?: number[];
  /** Change is the change on top of the file, or nil. */
  change: ActiveChange | null;
  /** Overrides are the active overrides, at most 1000. OverrideCount is their total number. */
  overrides?: Override[];
  override_count: number;
}

/** Override is an active override. */
export interface Override {
  /** Of names the limit that the override changes, in a policy with "all" or "first". It is omitted for an override of the whole policy. */
  of?: string;
  key: string;
  /** Limit is the active limit. File is the limit in the file. It is "" if only a change defines the limit. */
  limit: string;
  file?: string;
  change: ActiveChange | null;
}

/** Policies is a page of the active policies. Total is the number of matching policies on all pages. */
export interface Policies {
  generation: number;
  total: number;
  policies: PolicyView[];
}

/** Change is a change to a policy or to the limit of one key or pattern, on top of the file. */
export interface Change {
  /** Policy, Key and Fields are in the form used by package policy. Key is "" for a change of the policy itself. */
  policy: string;
  key?: string;
  fields: unknown;
  /** Author is the name that the operator wrote, and Reason is the operator's reason for the change. User is the user or token that made the call, or "" if the admin listener needs none. */
  author: string;
  user?: string;
  reason?: string;
  /** At is the time of the change. Expires is the time when the change ends. It is zero if the change lasts until a clear. If servers share a store, both times are on the store's clock. */
  at: string;
  expires?: string;
  /** Version grows with each change of the same policy and key. */
  version: number;
}

/** ActiveChange is a change on top of the file, with its effect. */
export interface ActiveChange extends Change {
  /** Before describes the policy or the key before the change was made or, in a list, as defined in the file. After describes its current form. An example is "100/s burst 200". */
  before: string;
  after: string;
  /** Ignored says, in a list, why the change does not fit the file. Such a change has no effect until it fits again. */
  ignored?: string;
}

/** Changes are all changes on top of the file. */
export interface Changes {
  changes: ActiveChange[];
}

/** ChangeName identifies a change that an operator makes or ends, and names the operator. */
export interface ChangeName {
  policy: string;
  /** Key is nil for a change to the policy itself. */
  key?: string;
  author?: string;
  reason?: string;
}

/** NewChange is a change made by an operator. */
export interface NewChange extends ChangeName {
  fields?: unknown;
  expires?: string;
  /** For is the duration of the change, such as 30m. It can be set instead of Expires. */
  for?: string;
}

/** Trial is the effect of a change: the policies that would differ. */
export interface Trial {
  policies: Difference[];
}

/** Difference is a policy before and after a change; Before is nil for a new policy. */
export interface Difference {
  name: string;
  before: Summary | null;
  after: Summary;
}

/** Shadow compares the decisions of a policy with the decisions that its shadow would make. Newly denied requests were allowed, and the shadow would deny them. Unknown counts requests that could not be compared, because the store was unavailable. */
export interface Shadow {
  policy: string;
  /** Limits contains the deciding limits. It is empty if the policy itself is the shadow. */
  limits: string[];
  shadow: string[];
  /** Since is the time when these limits became active. The counts start at that time. */
  since: string;
  both_allowed: number;
  both_denied: number;
  newly_denied: number;
  newly_allowed: number;
  unknown: number;
}

/** Shadows contains the counts for all shadows. */
export interface Shadows {
  shadows: Shadow[];
}

/** Error is the answer to a call that failed. Status is the HTTP status. */
export interface Error {
  status: number;
  detail: string;
  /** Field is the invalid field, or "". */
  field?: string;
  /** Code is the anchor in docs/reference/errors.md. If the handler leaves it empty, the server sends the code for the status. */
  code?: string;
}

/** Rates contains the numbers of decisions per second, for requests that take units. */
export interface Rates {
  allowed: number;
  denied: number;
  /** Unknown is the rate of requests without a decision, because the store failed. */
  unknown: number;
  invalid: number;
}

/** PolicyRates are the rates of one policy. */
export interface PolicyRates extends Rates {
  policy: string;
}

/** Second describes the requests in about one second. The rates are per second, computed from the exact length of the interval. */
export interface Second extends Rates {
  /** At is the end of the second, in ms since 1970. */
  at_ms: number;
  /** P50 and P99 are quantiles of the durations of clients' calls, in µs: half of them took at most P50. They are omitted if there were no calls. */
  p50_us?: number;
  p99_us?: number;
  /** Policies are the policies with the most requests, at most 20. */
  policies: PolicyRates[];
}

/** Access contains the rights of the caller, and facts about the server. HashedKeys is true if keys are counted under their hashes. */
export interface Access {
  administers: boolean;
  hashed_keys: boolean;
  version: string;
}

/** Server describes the server that answers. Other servers that share the store have their own counts. */
export interface Server {
  /** Name is its host and process id, such as web-3/4711. */
  name: string;
  /** Of is the number of servers that share the store: 1 for the memory store, 0 if unknown. */
  of: number;
}

/** Acceptance is an operator's decision to trust a store that has lost data. */
export interface Acceptance {
  author: string;
  reason?: string;
}

/** AcceptedLoss is the answer to an Acceptance. Lost is false if no loss was recorded, so that nothing changed. */
export interface AcceptedLoss {
  lost: boolean;
}

/** Action is one action of an operator: change, clear, give, reset, accept-loss or reload. */
export interface Action extends KeyFields {
  at: string;
  action: string;
  policy?: string;
  /** Author is the name that the operator wrote. User is the user or token that made the call, or "" if none is needed. */
  author?: string;
  user?: string;
  reason?: string;
  /** Before and After describe the policy or the key before and after a change or a clear, such as "100/s burst 200". */
  before?: string;
  after?: string;
  /** Fields and Expires are set for a change. Units is set for a give. */
  fields?: unknown;
  expires?: string;
  units?: number;
}

/** History contains the last actions, latest first. */
export interface History {
  actions: Action[];
}

/** Config contains the settings of the process, the active policies without their overrides, and the routes. */
export interface Config {
  settings: unknown;
  generation: number;
  changes: number;
  policies: Summary[];
  routes: unknown;
  /** InvalidFiles lists the files with errors. The rest of the configuration is the last valid one. */
  invalid_files?: InvalidFile[];
}

/** InvalidFile is a file with errors, whose last valid version stays in force. */
export interface InvalidFile {
  /** File is what the file is, such as config or users-file. */
  file: string;
  /** Error is at most [MaxFileError] bytes long. */
  error: string;
}

/** Reloaded is the answer to a reload. */
export interface Reloaded {
  generation: number;
}

/** PastSeconds contains the last seconds, at most 300, before a stream of events begins. The latest second is last. */
export interface PastSeconds {
  seconds: Second[];
}

/** Snapshot contains the latest second and the state of the server. */
export interface Snapshot extends Second {
  server?: Server;
  modes: Record<string, number>;
  store: Store;
  top_requests: TopKeys;
  top_denials: TopKeys;
  processes: Processes;
  generation: number;
  policy_count: number;
  change_count: number;
  /** InvalidFiles lists the files with errors, whose last valid versions stay in force. */
  invalid_files?: InvalidFile[];
}

/** Store is the state of the store. */
export interface Store {
  /** Address is its URL without user and password. */
  address: string;
  away: boolean;
  /** Class is the class of the error that made the store unavailable, such as out_of_memory. */
  class?: string;
  /** AwayFor is the time since the store became unavailable, in ms. It is 0 while the store is available. */
  away_ms: number;
  outages: number;
  /** Unknown is the number of requests without a decision since the server started. */
  unknown: number;
  /** Losses is the number of times that the store came back without its data. */
  losses: number;
  /** DoubtedUntil is when all limits that requests have used have recovered from the last loss. It is omitted if they have, or if an operator has accepted the loss. */
  doubted_until?: string;
  /** Keys is the number of keys in the memory store. It is omitted for other stores. */
  keys?: number;
}

/** Processes describes the servers that share the store. */
export interface Processes {
  /** Count is the number of processes that divide each limit equally while the store is unavailable. 0 means unknown. */
  count: number;
  /** Members contains the names of the processes in the group, at most 100. Self is the name of this process. Both are empty if the store is in the memory of this process. */
  members: string[];
  self: string;
  /** Leases counts the units prefetched by this process. It is nil if the process prefetches no units. */
  leases: Leases | null;
}

/** Leases counts prefetched units since the server started. Lost units could not be given back. */
export interface Leases {
  taken: number;
  spent: number;
  returned: number;
  lost: number;
  /** Processes is the number of processes that share the units. 0 means that the number is unknown. In that case no units are prefetched. */
  processes: number;
}

/** Explanation is the state of a key under a policy. */
export interface Explanation extends KeyFields {
  policy: string;
  /** Combined is true if the policy is defined with "all" or "first". An override of the whole policy can then only be deny or unlimited. */
  combined?: boolean;
  /** Counted is the hash that the key is counted under. It is omitted if keys are not hashed. */
  counted_as?: string;
  /** OldSecret is true if Counted is the hash under the second secret. That hash no longer decides requests. */
  old_secret?: boolean;
  /** OverrideUnknown is true if only a hash is known, so that an override of the key itself or of a pattern may apply. */
  override_unknown?: boolean;
  cost: number;
  /** Allowed reports whether a request with this cost would be allowed now. */
  allowed: boolean;
  /** FreesAt is the time when the request will be allowed if no other request comes, or when the change that denies it ends. It is omitted if the request is allowed now or can never be allowed. */
  frees_at?: string;
  /** Never is true if the request can never be allowed: the cost exceeds the capacity of the limit, and the limit was not set by a change that ends. */
  never?: boolean;
  /** Failure is the failure mode that determines the answer, because the store is unavailable or has lost data. It is omitted otherwise. */
  failure?: string;
  /** Generation is the generation of the policies used. */
  generation: number;
  limits: Standing[];
}

/** Explanations contains the explanations for a key. */
export interface Explanations {
  explanations: Explanation[];
  /** StoreAway is the class of the error that makes the store unavailable, such as out_of_memory: the failure modes decide requests, although the store may still answer an explanation. It is omitted while the store is available. */
  store_away?: string;
  /** OverrideUnknown is true if it is true for one of the policies. If no policy was requested, this includes policies without an explanation. */
  override_unknown?: boolean;
  /** Open are the open reservations that charged the key, at most 100 for each of its hashes: see settle_within of policies. */
  open?: Open[];
}

/** Open is a reservation that is not settled. */
export interface Open {
  id: string;
  /** EndsAt is the time when the reservation's term ends. Unsettled determines what happens then: keep, release or estimate. */
  ends_at: string;
  unsettled: string;
  charges: OpenCharged[];
}

/** OpenCharged is the charge of an open reservation on one limit. */
export interface OpenCharged extends KeyFields {
  /** Policy is omitted for a limit without a policy. */
  policy?: string;
  limit: string;
  units: number;
  /** Reported is the number of units reported as used so far. */
  reported?: number;
}

/** ClassStanding is the state of a key's requests in one class under a limit. */
export interface ClassStanding {
  class: string;
  allowed: boolean;
  /** Capacity and Remaining are the units for this class. They are omitted if the limit allows everything, or if the numbers are not known. */
  capacity?: number;
  remaining?: number;
}

/** Pool is the state of all keys under a limit that divides its units among them. OfKey and HeavyKeys are estimates, except for permits. */
export interface Pool {
  /** Burst is the size of the bucket, and Outstanding is the number of units that have not refilled yet. For permits, Burst is the number of permits, and Outstanding is the number of held permits. */
  burst: number;
  outstanding: number;
  /** OfKey estimates the number of outstanding units of this key. HeavyKeys estimates the number of keys of weight 1 that request more than they get. Part is the key's fair part: the key is denied while at least this many of its units are outstanding. The limit is fair among at most Burst − 1 heavy keys. For permits, OfKey is the number of permits that the key holds, Part is the number that it can hold now, and HeavyKeys is the square of Outstanding divided by the sum of the squares of all keys' permits: the number of keys if all hold equally many. */
  of_key: number;
  part: number;
  heavy_keys: number;
  /** Permits is true for a limit on permits. */
  permits?: boolean;
  /** Groups is true for a nested limit. OfKey and Part are then the units of the key's group, and HeavyKeys is a number of groups. */
  groups?: boolean;
}

/** InForce is the current rate of an adaptive limit. Changes is the number of rate changes since the key's state was created. */
export interface InForce {
  rate: string;
  changes: number;
}

/** Standing is the state of a key under one limit. */
export interface Standing {
  /** Policy is the policy that contains the limit. It differs from the explained policy if that policy includes the limit with "all" or "first". */
  policy: string;
  /** Combined is true if that policy is written with "all" or "first". */
  combined?: boolean;
  /** Target is the name of the limit in overrides, such as free/minute. It is omitted if it equals Policy. */
  target?: string;
  limit: string;
  /** Rule names the override that set this limit. It is omitted if no override set it. */
  rule?: string;
  /** From is the source of the limit: file or change. Change is that change, or nil. */
  from: string;
  change?: ActiveChange;
  shadow: boolean;
  /** Decides is true for the limit that determines the answer. */
  decides: boolean;
  allowed: boolean;
  /** Class is the class that the limit is lowered for. It is omitted if the policy has none. */
  class?: string;
  /** Classes are the classes that a request of the key can have, in order. They are omitted if the policy has none. */
  classes?: ClassStanding[];
  /** Unit is the name of the unit, such as tokens, if the policy has one. */
  unit?: string;
  /** Capacity and Remaining are in units. They are omitted if the limit allows everything. */
  capacity?: number;
  remaining?: number;
  /** RetryAfter and ResetAfter are in ms, rounded up. RetryAfter is omitted if the cost passes now or can never pass. */
  retry_after_ms?: number;
  reset_after_ms: number;
  frees_at?: string;
  /** Pool is the state of all keys together under a limit that divides its units among keys, such as fair-share. It is omitted for other limits. */
  pool?: Pool;
  /** InForce is the current rate of a limit with an adaptive rate. It is omitted for other limits. */
  in_force?: InForce;
  /** Strikes is the number of strikes of a penalty that are not forgotten. It is omitted for 0. */
  strikes?: number;
  /** State is true if the store has state for the key. Without state, no units are spent. */
  state: boolean;
  /** StoredAs are the names of the Redis keys of that state. They are omitted in memory. */
  stored_as?: string[];
  mode?: string;
  /** Error is the reason why the standing is not known. It is omitted if the standing is known. */
  error?: string;
}

/** TopKey is a key with its count. */
export interface TopKey extends KeyFields {
  policy: string;
  /** KeyHash distinguishes long keys with the same beginning: see [KeyHash]. It is omitted for short keys. */
  key_hash?: string;
  /** Count is an estimate: the key was counted at least Least and at most Most times. */
  count: number;
  least: number;
  most: number;
  /** Rate is Count per second of the span. */
  per_second: number;
}

/** TopKeys are the keys with the highest counts. */
export interface TopKeys {
  /** By is the kind of counted events, such as requests. */
  by: string;
  /** Span is the time covered by the counts, in seconds. */
  span_seconds: number;
  /** Sampled is true if only a share of the events was counted. */
  sampled: boolean;
  keys: TopKey[];
  /** Server is omitted in a snapshot, because the snapshot itself names the server. */
  server?: Server;
}

/** LimitedKey is a key that was denied in the last minute, with its standing. */
export interface LimitedKey {
  denials: TopKey;
  /** Explanation is omitted if the key belongs to no policy. */
  explanation?: Explanation;
}

/** LimitedKeys are the keys with the most denials. */
export interface LimitedKeys {
  span_seconds: number;
  sampled: boolean;
  keys: LimitedKey[];
  server: Server | null;
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
  /** Limit is the capacity of the binding limit, and Remaining is the number of its units that remain. */
  limit: number;
  remaining: number;
  /** RetryAfter is in ms, rounded up. It is omitted if the request was not denied, or can never pass. */
  retry_after_ms?: number;
  frontend: string;
  /** Counts is the number of requests that this entry represents: more than 1 if they were sampled. */
  counts: number;
}

/** Timeline contains the last decisions on the requests of a key, latest first. */
export interface Timeline {
  decisions: Decided[];
}

/** Summary describes a policy for `headgate check`, operators and other tools. Its limits are texts such as "100/s burst 200"; its settings and overrides are as in a file. */
export interface Summary extends Settings {
  name: string;
  limits: string[];
  overrides?: OverrideSummary[];
}

/** OverrideSummary is the limit of a key, or of the keys that match a pattern. */
export interface OverrideSummary {
  of?: string;
  key: string;
  limit: string;
}

/** Settings are the settings of a policy. Commands print them in the order of the fields. */
export interface Settings {
  /** First is true if only the first limit with room is charged. It is false if all limits are charged. */
  first?: boolean;
  failure: string;
  mode: string;
  headers: string;
  cost: number;
  /** Unit is the name of the unit, such as tokens. */
  unit?: string;
  /** Classes are the classes of requests in order, such as "batch leaves 10%". */
  classes?: string[];
  /** EstimateMax is "capacity" if a reserve takes at most the capacity of the limits. */
  estimate_max?: string;
  /** SettleWithin is the term of a reservation, such as 10m: the time until it must be settled. Unsettled determines the charge of a reservation that was not settled in time: keep, release or estimate. */
  settle_within?: string;
  unsettled?: string;
  shadow: boolean;
  candidate?: string;
  enabled: boolean;
}

/** Algorithm has the other names of an algorithm, and its properties in engine/algo. */
export interface Algorithm {
  aliases: string[];
  constant?: true;
  refills?: true;
  burst_is_count?: true;
  paces?: true;
  holds?: true;
  divides?: true;
  adapts?: true;
  punishes?: true;
}

export const algorithms: Record<string, Algorithm> = {
  "token-bucket": { aliases: ["gcra", "leaky-bucket", "funnel"], refills: true, burst_is_count: true },
  "pacer": { aliases: [], refills: true, paces: true },
  "fixed-window": { aliases: [] },
  "sliding-window": { aliases: [] },
  "sliding-log": { aliases: [] },
  "warm-up": { aliases: [], refills: true },
  "concurrency": { aliases: [], holds: true },
  "deny": { aliases: [], constant: true },
  "unlimited": { aliases: [], constant: true },
  "fair-share": { aliases: [], refills: true, burst_is_count: true, divides: true },
  "penalty": { aliases: [], punishes: true },
  "adaptive-rate": { aliases: [], refills: true, burst_is_count: true, adapts: true },
  "fair-concurrency": { aliases: [], holds: true, divides: true },
  "fair-pacer": { aliases: [], refills: true, paces: true, divides: true },
};

/** fields are the fields of a limit except for its rate. A field implies the algorithm of a text that names none. */
export const fields: Record<string, { kind: "units" | "span" | "word" | "flag" | "rates"; implies?: string }> = {
  burst: { kind: "units" },
  debt: { kind: "units" },
  max_wait: { kind: "span", implies: "pacer" },
  max_queue: { kind: "units", implies: "pacer" },
  warm_up: { kind: "span", implies: "warm-up" },
  weight: { kind: "units", implies: "fair-share" },
  nested: { kind: "flag", implies: "fair-share" },
  min: { kind: "units", implies: "adaptive-rate" },
  max: { kind: "units", implies: "adaptive-rate" },
  interval: { kind: "span", implies: "adaptive-rate" },
  failures: { kind: "units", implies: "adaptive-rate" },
  max_pause: { kind: "span", implies: "adaptive-rate" },
  block: { kind: "span", implies: "penalty" },
  max_block: { kind: "span", implies: "penalty" },
  forget: { kind: "span", implies: "penalty" },
  align: { kind: "word", implies: "fixed-window" },
  anchor: { kind: "word" },
  segments: { kind: "units" },
  segment: { kind: "span" },
  variant: { kind: "word" },
  windows: { kind: "rates" },
  lease: { kind: "span" },
  count_denied: { kind: "flag" },
  next_pays: { kind: "flag" },
  name: { kind: "word" },
};

package chaos

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The algorithms of the policies, with their names in the policies file.
const (
	bucket   = "token-bucket"
	pacer    = "pacer"
	warmUp   = "warm-up"
	fixed    = "fixed-window"
	sliding  = "sliding-window"
	slideLog = "sliding-log"
	seats    = "concurrency"
)

// limit is a policy of a seed: its text in the file, and the parameters that the audit needs.
type limit struct {
	policy, algorithm string
	// fields is the policy's text in the file, and changed is its text in the file's second version.
	fields, changed string
	// count is the number of units that pass per period. For a bucket, it is the number that pass at once after an idle
	// time.
	count  int64
	period time.Duration
	// refill is the number of units that a bucket gains per period.
	refill int64
	// least is the lower count of the two versions.
	least int64
	// failure is the failure mode.
	failure string
	leased  bool
	// weight is the policy's share of the requests, relative to the other policies' weights.
	weight int
	// also lists further windows of the policy. Every request counts in each of them.
	also []limit
	// reserved is true if callers also reserve units of the policy.
	reserved bool
}

// limits returns the limits of all policies. Callers send more requests than any of them allows.
func limits() []limit {
	local := func(l limit) limit {
		l.policy, l.failure = l.policy+"-local", "local"
		return l
	}
	deny := func(l limit) limit {
		l.policy, l.failure = l.policy+"-deny", "deny"
		return l
	}
	log := limit{policy: "log", algorithm: slideLog, fields: "limit: 30, window: 2s", changed: "limit: 20, window: 2s", count: 30, period: 2 * time.Second, least: 20, weight: 4}
	window := limit{policy: "fixed", algorithm: fixed, fields: "limit: 30, window: 1s, align: clock", count: 30, period: time.Second, weight: 6}
	strict := limit{policy: "strict", algorithm: sliding, fields: "limit: 30, window: 2s, segments: 20, variant: strict", count: 30, period: 2 * time.Second, weight: 4}
	tokens := limit{policy: "bucket", algorithm: bucket, fields: "rate: 20/s, burst: 20", changed: "rate: 20/s, burst: 4", count: 20, refill: 20, period: time.Second, least: 4, weight: 6}
	// The queue of 10 admits 10 units at once in addition to the burst.
	paced := limit{policy: "pacer", algorithm: pacer, fields: "rate: 20/s, burst: 1, max_queue: 10", count: 11, refill: 20, period: time.Second, weight: 4}
	warm := limit{policy: "warm", algorithm: warmUp, fields: "rate: 20/s, burst: 10, warm_up: 1s", count: 10, refill: 20, period: time.Second, weight: 4}
	all := []limit{deny(log), local(log), deny(window), local(window), local(strict), deny(tokens), local(tokens), local(paced), local(warm)}

	// This limit recovers slowly, so that it is still recovering when a seed checks whether processes trust a store
	// that came back without its data.
	slow := local(limit{policy: "slow", algorithm: slideLog, fields: "limit: 150, window: 15s", count: 150, period: 15 * time.Second, weight: 6})
	// Callers that never pause use up the small shares of this limit at once, so that a share that is granted twice is noticed.
	few := local(limit{policy: "few", algorithm: slideLog, fields: "limit: 10, window: 20s", count: 10, period: 20 * time.Second})
	// During an outage of a few seconds, the long window is binding. A candidate that would deny nearly every request
	// must not affect callers.
	long := limit{policy: "two-local", algorithm: slideLog, count: 15, period: 3 * time.Second, least: 15, failure: "local"}
	two := local(limit{policy: "two", algorithm: slideLog, fields: "windows: [{limit: 10, window: 500ms}, {limit: 15, window: 3s}]", count: 10, period: 500 * time.Millisecond, weight: 6, also: []limit{long}})
	tried := local(limit{policy: "tried", algorithm: fixed, fields: "limit: 30, window: 1s, align: clock, shadow: {limit: 1}", count: 30, period: time.Second, weight: 4})
	// A request passes while any unit is left, and later requests pay for it. The burst and the cost of one more
	// request can therefore pass at once.
	next := local(limit{policy: "next", algorithm: bucket, fields: "rate: 20/s, burst: 20, next_pays: true", count: 21, refill: 20, period: time.Second, least: 20, weight: 3})
	// Callers reserve most units of this policy, and give them back.
	reserved := local(limit{policy: "held", algorithm: bucket, fields: "rate: 20/s, burst: 10", count: 10, refill: 20, period: time.Second, weight: 12})
	all = append(all, two, tried, next, reserved)
	open := limit{policy: "log-allow", failure: "allow", algorithm: slideLog, fields: "limit: 30, window: 2s", count: 30, period: 2 * time.Second, weight: 3}
	all = append(all, slow, few, open)
	for _, l := range []limit{
		{policy: "bucket-leased", algorithm: bucket, fields: "rate: 80/s, burst: 80", count: 80, refill: 80, period: time.Second},
		{policy: "fixed-leased", algorithm: fixed, fields: "limit: 80, window: 1s, align: clock", count: 80, period: time.Second},
		{policy: "log-leased", algorithm: slideLog, fields: "limit: 80, window: 1s", count: 80, period: time.Second},
	} {
		l.leased, l.failure, l.weight = true, "local", 16
		all = append(all, l)
	}
	for i := range all {
		l := &all[i]
		l.least = cmp.Or(l.least, l.count)
		l.reserved = l.algorithm != pacer && l.algorithm != warmUp && !l.leased && l.failure != "allow" && l.policy != "next-local"
	}
	return all
}

// limitOf returns the limit of a policy, which must be in the list.
func limitOf(all []limit, policy string) *limit {
	return &all[slices.IndexFunc(all, func(l limit) bool { return l.policy == policy })]
}

const (
	// held is a bucket whose units are mostly reserved.
	held = "held-local"
	// scarce is a limit of a few units.
	scarce = "few-local"
)

const (
	seatPolicy = "seats" // has failure mode deny
	shared     = "seats-local"
	seatCount  = shareCount - 2 // no share is below one permit
	seatLease  = 2 * time.Second
)

// policiesFile returns the policies file, in its first or second version.
func policiesFile(second bool) string {
	var b strings.Builder
	b.WriteString("policies:\n")
	for _, l := range limits() {
		fields := l.fields
		if second && l.changed != "" {
			fields = l.changed
		}
		mode := "exact"
		if l.leased {
			mode = "leased"
		}
		b.WriteString("  " + l.policy + ": {algorithm: " + l.algorithm + ", " + fields + ", failure: " + l.failure + ", mode: " + mode + "}\n")
	}
	for _, name := range slices.Sorted(maps.Keys(samplePolicies)) {
		b.WriteString("  " + name + ": {" + samplePolicies[name] + ", failure: deny}\n")
	}
	b.WriteString("  " + ghost + ": {algorithm: fixed-window, limit: 1, window: 1h, failure: deny, shadow: true}\n")
	for policy, failure := range map[string]string{seatPolicy: "deny", shared: "local"} {
		b.WriteString("  " + policy + ": {algorithm: " + seats + ", limit: " + strconv.Itoa(seatCount) + ", lease: 2s, failure: " + failure + "}\n")
	}
	return b.String() + routesFile()
}

// admits returns the number of units that the limit allows in any half-open span of the given length.
func (l *limit) admits(span time.Duration) int64 {
	if l.refill == 0 {
		return l.count
	}
	return l.count + l.gains(l.refill, span)
}

// gains returns the number of units that a bucket gains in a span at a rate per period, rounded up.
func (l *limit) gains(rate int64, span time.Duration) int64 {
	return (int64(span)*rate + int64(l.period) - 1) / int64(l.period)
}

// share returns the number of units that the shares of all processes admit in a span. A bucket with the limit's
// capacity and rate would admit as many, plus the bursts of 1 that a pacer adds.
func (l *limit) share(span time.Duration) int64 {
	rate := l.refill
	if rate == 0 {
		rate = l.count
	}
	units := l.count + l.gains(rate, span)
	if l.algorithm == pacer {
		units += shareCount - 1
	}
	return units
}

package chaos

import (
	"slices"
	"testing"
	"time"
)

// policyOf returns a limit by its policy.
func policyOf(t *testing.T, policy string) *limit {
	t.Helper()
	all := limits()
	i := slices.IndexFunc(all, func(l limit) bool { return l.policy == policy })
	if i < 0 {
		t.Fatalf("there is no policy %s", policy)
	}
	return &all[i]
}

const ms = time.Millisecond

// burst returns n requests, of which one is sent each millisecond and answered in the next.
func burst(l *limit, n int, from time.Duration, as answer) (log []answer) {
	for i := range n {
		a := as
		a.limit, a.key = l, "k0"
		a.sent = from + time.Duration(i)*ms
		a.received = a.sent + ms
		log = append(log, a)
	}
	return log
}

func allowed(mode string, overshoot int64) answer {
	return answer{allowed: true, mode: mode, overshoot: overshoot}
}

// On each of these logs the audit finds what is wrong, and nothing on those beside them.
func TestAudit(t *testing.T) {
	exact, shares, denied := allowed("exact", 0), allowed("fallback", 30), answer{mode: "exact"}
	loss := span{500 * ms, 600 * ms}
	for name, c := range map[string]struct {
		policy string
		parts  []func(*limit) []answer
		h      happened
		want   string
	}{
		"a log of 30": {policy: "log-deny", parts: parts(30, 0, exact)},
		"one more":    {policy: "log-deny", parts: parts(31, 0, exact), want: "exceeded"},
		"two windows": {policy: "log-deny", parts: append(parts(30, 0, exact), parts(30, 2030*ms, exact)...)},
		"too early":   {policy: "log-deny", parts: append(parts(30, 0, exact), parts(30, 1960*ms, exact)...), want: "exceeded"},
		"a loss of data lets the limit through once more": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(30, 700*ms, exact)...), h: happened{losses: []span{loss}},
		},
		"and not twice": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(31, 700*ms, exact)...), h: happened{losses: []span{loss}}, want: "exceeded",
		},
		"a window by the clock": {policy: "fixed-deny", parts: append(parts(30, 960*ms, exact), parts(30, 1001*ms, exact)...)},
		"units of two windows":  {policy: "fixed-deny", parts: append(parts(30, 100*ms, exact), parts(1, 900*ms, exact)...), want: "exceeded"},
		"a bucket":              {policy: "bucket-deny", parts: append(parts(20, 0, exact), parts(20, 1000*ms, exact)...)},
		"too many of a bucket":  {policy: "bucket-deny", parts: append(parts(20, 0, exact), parts(20, 900*ms, exact)...), want: "exceeded"},
		"prefetched units":      {policy: "bucket-leased", parts: append(parts(80, 0, exact), parts(30, 80*ms, allowed("leased", 40))...)},
		"too many prefetched":   {policy: "bucket-leased", parts: append(parts(80, 0, exact), parts(60, 80*ms, allowed("leased", 40))...), want: "exceeded"},
		"shares after the store": {
			policy: "log-local", parts: append(parts(30, 0, exact), parts(30, 100*ms, shares)...),
		},
		"too many by shares":           {policy: "log-local", parts: parts(31, 0, shares), want: "shares"},
		"shares of a new process":      {policy: "log-local", parts: parts(40, 0, shares), h: happened{restarts: []restart{{1, loss}}}, want: ""},
		"shares that state no bound":   {policy: "log-allow", parts: parts(90, 0, allowed("fallback", -1))},
		"denied when all is spent":     {policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 100*ms, denied)...)},
		"denied with a unit left":      {policy: "log-deny", parts: append(parts(19, 0, exact), parts(1, 100*ms, denied)...), want: "denied"},
		"denied in the next window":    {policy: "fixed-deny", parts: append(parts(30, 100*ms, exact), parts(1, 1010*ms, denied)...), want: "denied"},
		"denied after a refill":        {policy: "bucket-local", parts: append(parts(20, 0, exact), parts(1, 1200*ms, denied)...), want: "denied"},
		"denied before a refill":       {policy: "bucket-local", parts: append(parts(20, 0, exact), parts(1, 30*ms, denied)...)},
		"errors may have been charged": {policy: "log-deny", parts: append(parts(30, 0, answer{class: "outcome_unknown"}), parts(1, 100*ms, denied)...)},
		"once":                         {policy: "log-deny", parts: append(parts(19, 0, answer{class: "outcome_unknown"}), parts(1, 100*ms, denied)...), want: "denied"},
		"an empty store is doubted": {
			policy: "slow-local", parts: append(parts(150, 0, exact), parts(10, 8000*ms, shares)...), h: happened{losses: []span{{3000 * ms, 3100 * ms}}, emptied: []span{{3000 * ms, 3100 * ms}}},
		},
		"an empty store is believed": {
			policy: "slow-local", parts: parts(10, 9000*ms, exact), h: happened{losses: []span{{3000 * ms, 3100 * ms}}, emptied: []span{{3000 * ms, 3100 * ms}}}, want: "believed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := policyOf(t, c.policy)
			var log []answer
			for _, part := range c.parts {
				log = append(log, part(l)...)
			}
			c.h.wall = time.Unix(1_800_000_000, 0)
			f := audit(&c.h, log, nil)
			got := ""
			if len(f.violations) > 0 {
				got = f.violations[0].Rule
			}
			if got != c.want {
				t.Errorf("the audit finds %q %v, want %q", got, f.violations, c.want)
			}
		})
	}
}

// parts returns the log of n requests of the limit of a case.
func parts(n int, from time.Duration, as answer) []func(*limit) []answer {
	return []func(*limit) []answer{func(l *limit) []answer { return burst(l, n, from, as) }}
}

// Five permits at once are one too many, and none are left over from before a loss of data
// for longer than a lease.
func TestAuditPermits(t *testing.T) {
	held := slices.Repeat([]hold{{100 * ms, 900 * ms}}, seatCount)
	late := append(slices.Clone(held), hold{200 * ms, 300 * ms})
	for name, c := range map[string]struct {
		holds  []hold
		losses []span
		broken bool
	}{
		"four":                 {held, nil, false},
		"five":                 {late, nil, true},
		"five after a loss":    {late, []span{{120 * ms, 150 * ms}}, false},
		"five before the loss": {late, []span{{400 * ms, 500 * ms}}, true},
	} {
		f := audit(&happened{losses: c.losses}, nil, c.holds)
		if broken := len(f.violations) > 0; broken != c.broken {
			t.Errorf("%s: %v", name, f.violations)
		}
	}
}

// A few seeds in a row strike every fault of every deployment, and a seed always makes the
// same schedule.
func TestPlan(t *testing.T) {
	struckBy := map[string]map[string]bool{}
	for seed := range uint64(30) {
		s := plan(seed, "", time.Minute)
		if again := plan(seed, "", time.Minute); s.String() != again.String() {
			t.Errorf("seed %d makes two schedules:\n%s%s", seed, s, again)
		}
		for _, e := range s.Events {
			if struckBy[s.Deployment] == nil {
				struckBy[s.Deployment] = map[string]bool{}
			}
			struckBy[s.Deployment][e.Fault] = true
			if end := e.At + e.Lasts; end > s.Span-time.Second {
				t.Errorf("seed %d: %s ends at %s of %s", seed, e.Fault, end, s.Span)
			}
		}
	}
	for _, d := range deployments {
		for _, fault := range slices.Concat(storeFaults[d], processFaults[d]) {
			if !struckBy[d][fault] {
				t.Errorf("%s: no seed has %q", d, fault)
			}
		}
	}
}

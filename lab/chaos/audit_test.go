package chaos

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// policyOf returns the limit of the policy with the given name.
func policyOf(policy string) *limit { return limitOf(limits(), policy) }

const ms = time.Millisecond

// burst returns a log of n requests. One request is sent in each millisecond, and answered in the next millisecond.
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

// beyond returns the answer for units that a settlement charges beyond its reservation.
func beyond(units int64) answer { return answer{allowed: true, mode: "settled", beyond: units} }

// TestAudit runs pairs of logs. The first contains a violation that the audit must find, and the second is similar but
// contains none.
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
		"a bucket in two primaries": {
			policy: "bucket-deny", parts: append(parts(40, 0, exact), parts(18, 500*ms, exact)...),
			h: happened{losses: []span{{0, 800 * ms}}, twice: []span{{0, 800 * ms}}},
		},
		"too many in two primaries": {
			policy: "bucket-deny", parts: append(parts(40, 0, exact), parts(24, 500*ms, exact)...),
			h: happened{losses: []span{{0, 800 * ms}}, twice: []span{{0, 800 * ms}}}, want: "exceeded",
		},
		"prefetched units":    {policy: "bucket-leased", parts: append(parts(80, 0, exact), parts(30, 80*ms, allowed("leased", 40))...)},
		"too many prefetched": {policy: "bucket-leased", parts: append(parts(80, 0, exact), parts(60, 80*ms, allowed("leased", 40))...), want: "exceeded"},
		"shares after the store": {
			policy: "log-local", parts: append(parts(30, 0, exact), parts(30, 100*ms, shares)...),
		},
		"too many by shares":           {policy: "log-local", parts: parts(61, 0, shares), want: "shares"},
		"shares of a new process":      {policy: "log-local", parts: parts(61, 0, shares), h: happened{restarts: []restart{{1, loss}}}, want: "shares"},
		"more than the shares state":   {policy: "log-local", parts: append(parts(30, 0, exact), parts(31, 100*ms, shares)...), want: "stated"},
		"ten without an answer":        {policy: "log-local", parts: parts(10, 0, answer{class: "unavailable"})},
		"eleven":                       {policy: "log-local", parts: parts(11, 0, answer{class: "unavailable"}), want: "answered"},
		"a wrong password":             {policy: "log-local", parts: parts(11, 0, answer{class: "no_auth"})},
		"shares that state no bound":   {policy: "log-allow", parts: parts(90, 0, allowed("fallback", -1))},
		"denied when all is spent":     {policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 100*ms, denied)...)},
		"denied with a unit left":      {policy: "log-deny", parts: append(parts(19, 0, exact), parts(1, 100*ms, denied)...), want: "denied"},
		"denied in the next window":    {policy: "fixed-deny", parts: append(parts(30, 100*ms, exact), parts(1, 1010*ms, denied)...), want: "denied"},
		"denied after a refill":        {policy: "bucket-local", parts: append(parts(20, 0, exact), parts(1, 1200*ms, denied)...), want: "denied"},
		"denied before a refill":       {policy: "bucket-local", parts: append(parts(20, 0, exact), parts(1, 30*ms, denied)...)},
		"errors may have been charged": {policy: "log-deny", parts: append(parts(30, 0, answer{class: "outcome_unknown"}), parts(1, 100*ms, denied)...)},
		"once":                         {policy: "log-deny", parts: append(parts(19, 0, answer{class: "outcome_unknown"}), parts(1, 100*ms, denied)...), want: "denied"},
		"what a settlement charged beyond its reservation is over": {policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 100*ms, beyond(8))...)},
		"and is remembered": {
			policy: "log-deny", parts: append(append(parts(20, 0, exact), parts(1, 100*ms, beyond(8))...), parts(3, 200*ms, exact)...), want: "exceeded",
		},
		"as far as there is room": {policy: "log-deny", parts: append(append(parts(20, 0, exact), parts(1, 100*ms, beyond(8))...), parts(2, 200*ms, exact)...)},
		"perhaps not yet": {
			policy: "log-deny", parts: append(append(parts(20, 0, exact), parts(1, 100*ms, beyond(8))...), append(parts(3, 200*ms, exact), parts(1, 900*ms, answer{class: "unavailable"})...)...),
		},
		"a bucket remembers it": {
			policy: "bucket-deny", parts: append(append(parts(10, 0, exact), parts(1, 100*ms, beyond(18))...), parts(1, 200*ms, exact)...), want: "exceeded",
		},
		"denied after it":       {policy: "log-deny", parts: append(append(parts(12, 0, exact), parts(1, 100*ms, beyond(8))...), parts(1, 200*ms, denied)...)},
		"denied without it":     {policy: "log-deny", parts: append(append(parts(12, 0, exact), parts(1, 100*ms, beyond(7))...), parts(1, 200*ms, denied)...), want: "denied"},
		"denied on other slots": {policy: "log-deny", parts: append(append(parts(12, 0, exact), parts(8, 100*ms, answer{class: byOther})...), parts(1, 200*ms, denied)...)},
		"a step of the clock forward lets the limit through once more": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(30, 700*ms, exact)...), h: happened{steps: []step{{loss, 5000 * ms}}},
		},
		"and once only": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(31, 700*ms, exact)...), h: happened{steps: []step{{loss, 5000 * ms}}}, want: "exceeded",
		},
		"a step back by the span of the limit does too": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(30, 700*ms, exact)...), h: happened{steps: []step{{loss, -2000 * ms}}},
		},
		"a shorter step back lets nothing through": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 700*ms, exact)...), h: happened{steps: []step{{loss, -1900 * ms}}}, want: "exceeded",
		},
		"after a step forward there is another window": {
			policy: "fixed-deny", parts: append(parts(30, 100*ms, exact), parts(30, 610*ms, exact)...), h: happened{steps: []step{{loss, 700 * ms}}},
		},
		"whose end is that of the stepped clock": {
			policy: "fixed-deny", parts: append(parts(30, 610*ms, exact), parts(1, 1290*ms, exact)...), h: happened{steps: []step{{loss, 700 * ms}}}, want: "exceeded",
		},
		"denied until a step back is made up": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 3200*ms, denied)...), h: happened{steps: []step{{loss, -1900 * ms}}},
		},
		"denied long after a step back": {
			policy: "log-deny", parts: append(parts(30, 0, exact), parts(1, 9900*ms, denied)...), h: happened{steps: []step{{loss, -1900 * ms}}}, want: "denied",
		},
		"an empty store is doubted": {
			policy: "slow-local", parts: append(parts(150, 0, exact), parts(10, 8000*ms, shares)...), h: happened{losses: []span{{3000 * ms, 3100 * ms}}, emptied: []span{{3000 * ms, 3100 * ms}}},
		},
		"an empty store is believed": {
			policy: "slow-local", parts: parts(10, 9000*ms, exact), h: happened{losses: []span{{3000 * ms, 3100 * ms}}, emptied: []span{{3000 * ms, 3100 * ms}}}, want: "believed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := policyOf(c.policy)
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

// parts returns the log of n requests to a case's limit.
func parts(n int, from time.Duration, as answer) []func(*limit) []answer {
	return []func(*limit) []answer{func(l *limit) []answer { return burst(l, n, from, as) }}
}

// everyTenth returns stalls of a length in each tenth of a second, from 20 s to 24 s.
func everyTenth(length time.Duration) (stalls []span) {
	for at := 20 * time.Second; at < 24*time.Second; at += 100 * ms {
		stalls = append(stalls, span{at, at + length})
	}
	return stalls
}

// TestAuditNeedless checks that a process decides without the store only while the store, or the master with the key, is
// unavailable, or while a limit recovers from a loss.
func TestAuditNeedless(t *testing.T) {
	l := policyOf("log-local")
	answers := func(n int, as answer) (log []answer) {
		as.limit, as.key = l, cmp.Or(as.key, "k0")
		for i := range n {
			as.sent = 20*time.Second + time.Duration(i)*160*ms
			as.received = as.sent + ms
			log = append(log, as)
		}
		return log
	}
	away := func(on int, from time.Duration, keys ...string) happened {
		return happened{faults: []struck{{event: event{Fault: masterAway, Process: on}, span: span{from, 30 * time.Second}, keys: keys}}}
	}
	shares, exact, unsent := allowed("fallback", 30), allowed("exact", 0), answer{class: "unsent"}
	for name, c := range map[string]struct {
		log    []answer
		h      happened
		broken bool
	}{
		"by shares without a fault":       {log: answers(20, shares), broken: true},
		"errors without a fault":          {log: answers(20, unsent), broken: true},
		"a few":                           {log: answers(10, shares)},
		"the store answers meanwhile":     {log: slices.Insert(answers(20, shares), 10, answers(11, exact)[10])},
		"the store is away":               {log: answers(20, shares), h: away(-1, 20*time.Second)},
		"another process is cut off":      {log: answers(20, shares), h: away(2, 20*time.Second), broken: true},
		"the key's master is away":        {log: answers(20, shares), h: away(-1, 20*time.Second, "k0")},
		"another master is away":          {log: answers(20, shares), h: away(-1, 20*time.Second, "k1"), broken: true},
		"the limit recovers":              {log: answers(20, shares), h: happened{losses: []span{{14 * time.Second, 15 * time.Second}}}},
		"the machine stands":              {log: answers(20, shares), h: happened{stalls: []span{{20 * time.Second, 21 * time.Second}}}},
		"the machine stands often":        {log: answers(20, shares), h: happened{stalls: everyTenth(40 * ms)}},
		"the machine stands now and then": {log: answers(20, shares), h: happened{stalls: everyTenth(20 * ms)}, broken: true},
		"Redis hung by itself":            {log: answers(20, shares), h: happened{hangs: []span{{19 * time.Second, 20 * time.Second}}}},
		"the limit has long recovered":    {log: answers(20, shares), h: happened{losses: []span{{ms, 2 * ms}}}, broken: true},
	} {
		slices.SortStableFunc(c.log, func(a, b answer) int { return cmp.Compare(a.sent, b.sent) })
		f := &found{}
		f.needless(&c.h, c.log)
		if broken := len(f.violations) > 0; broken != c.broken {
			t.Errorf("%s: %v", name, f.violations)
		}
	}
}

// TestAuditInvalid checks that requests that a server does not understand are reported, and errors of its store are not.
func TestAuditInvalid(t *testing.T) {
	for text, broken := range map[string]bool{
		"ERR unknown command 'headgate.tell'":                        true,
		"UNAVAILABLE outcome unknown: headgate: store unavailable":   false,
		`{"status":503,"detail":"could not decide: outcome_unknown"`: false,
	} {
		f := audit(&happened{}, []answer{{limit: policyOf("log-deny"), key: "k0", class: serverClass(text)}}, nil)
		if got := len(f.violations) > 0; got != broken {
			t.Errorf("%s: %v", text, f.violations)
		}
	}
}

// TestAuditIdle checks that a pacer with waiting callers is never idle for long.
func TestAuditIdle(t *testing.T) {
	l := policyOf(leftPolicy)
	for every, broken := range map[time.Duration]bool{50 * ms: false, 180 * ms: false, 250 * ms: true} {
		var log []answer
		for at := time.Duration(0); at < 5*time.Second; at += every {
			log = append(log, answer{limit: l, key: leftKey, process: waiterProcess, sent: at, received: at + ms, allowed: true, mode: "exact"})
		}
		f := &found{}
		f.idle(&happened{}, l, log)
		if (len(f.violations) > 0) != broken {
			t.Errorf("a caller every %s: %v", every, f.violations)
		}
		f = &found{}
		f.idle(&happened{faults: []struck{{event: event{Process: -1}, span: span{0, 5 * time.Second}}}}, l, log)
		if len(f.violations) > 0 {
			t.Errorf("the store is away: %v", f.violations)
		}
	}
}

// TestAuditPermits checks that one permit more than the limit is too many, and that permits acquired before a data loss
// count for at most a lease time.
func TestAuditPermits(t *testing.T) {
	held := slices.Repeat([]hold{{from: 100 * ms, to: 900 * ms}}, seatCount)
	late := append(slices.Clone(held), hold{from: 200 * ms, to: 300 * ms})
	own := append(slices.Clone(held[1:]), hold{from: 150 * ms, to: 900 * ms, may: span{from: 140 * ms}, shared: true})
	beside := func(asked time.Duration) []hold {
		return append(slices.Clone(own), hold{from: 200 * ms, to: 300 * ms, may: span{from: asked}})
	}
	for name, c := range map[string]struct {
		holds  []hold
		h      happened
		broken bool
	}{
		"all":                            {held, happened{}, false},
		"one more":                       {late, happened{}, true},
		"one more after a loss":          {late, happened{losses: []span{{120 * ms, 150 * ms}}}, false},
		"one more before the loss":       {late, happened{losses: []span{{400 * ms, 500 * ms}}}, true},
		"beside an own share":            {beside(160 * ms), happened{}, true},
		"the share gave it meanwhile":    {beside(145 * ms), happened{}, false},
		"a process before it gave it":    {beside(160 * ms), happened{restarts: []restart{{span: span{151 * ms, 155 * ms}}}}, false},
		"another process began meantime": {beside(160 * ms), happened{restarts: []restart{{process: 1, span: span{151 * ms, 155 * ms}}}}, true},
	} {
		f := audit(&c.h, nil, c.holds)
		if broken := len(f.violations) > 0; broken != c.broken {
			t.Errorf("%s: %v", name, f.violations)
		}
	}
}

// TestAuditDeniedPermits checks that a permit may be denied only while all permits may be held.
func TestAuditDeniedPermits(t *testing.T) {
	seat := &limit{policy: seatPolicy, algorithm: seats}
	ask := func(class string, allowed bool) *hold {
		return holdOf(&answer{limit: seat, class: class, allowed: allowed, mode: "exact", sent: 100 * ms, received: 101 * ms})
	}
	held, ended, renewed, denied := ask("", true), ask("", true), ask("", true), ask("", false)
	ended.end(500*ms, 501*ms, true)
	renewed.renewed(1500*ms, 1501*ms, "")
	denied.may = span{3 * time.Second, 3 * time.Second}
	soon, later := *denied, *denied
	soon.may, later.may = span{400 * ms, 400 * ms}, span{2 * time.Second, 2 * time.Second}
	away := answer{limit: policyOf("log-deny"), class: "outcome_unknown", sent: 450 * ms, received: 460 * ms}
	// of returns all permits but one, and the last one if it is given.
	of := func(most *hold, last ...*hold) []*hold {
		return append(slices.Repeat([]*hold{most}, seatCount-1), last...)
	}
	for name, c := range map[string]struct {
		others  []*hold
		denied  *hold
		answers []answer
		h       happened
		broken  bool
	}{
		"all are held":             {others: of(held, held), denied: &later},
		"one is free":              {others: of(held), denied: &later, broken: true},
		"one has ended":            {others: of(held, ended), denied: &later, broken: true},
		"it had not yet":           {others: of(held, ended), denied: &soon},
		"their leases have ended":  {others: of(held, held), denied: denied, broken: true},
		"they were renewed":        {others: of(renewed, renewed), denied: denied},
		"a request has no answer":  {others: of(held, ask("outcome_unknown", false)), denied: &later},
		"a list was denied":        {others: of(held, ask(byOther, false)), denied: &later, broken: true},
		"a fault excuses it":       {others: []*hold{held}, denied: &later, h: happened{faults: []struck{{span: span{0, ms}}}}},
		"one may not have ended":   {others: of(held, ended), denied: &later, answers: []answer{away}},
		"by a share: it says less": {others: []*hold{held}, denied: holdOf(&answer{limit: seat, mode: "fallback"})},
	} {
		holds := []hold{*c.denied}
		for _, o := range c.others {
			holds = append(holds, *o)
		}
		f := audit(&c.h, c.answers, holds)
		if broken := len(f.violations) > 0; broken != c.broken {
			t.Errorf("%s: %v", name, f.violations)
		}
	}
}

// TestPlan checks that a few consecutive seeds cause every fault on every deployment, and that a seed always gives
// the same schedule.
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

// TestSamplesHaveAnOrder checks that a history of takes is linearizable only if each unit was charged exactly once
// and each peek reflects the charges before it.
func TestSamplesHaveAnOrder(t *testing.T) {
	at := func(client int, from, to int64, peek, allowed bool, remaining int64) porcupine.Operation {
		return porcupine.Operation{ClientId: client, Input: take{peek}, Call: from, Output: stood{allowed, remaining}, Return: to}
	}
	first, second := at(0, 0, 10, false, true, sampleLimit-1), at(1, 5, 15, false, true, sampleLimit-2)
	for name, c := range map[string]struct {
		history []porcupine.Operation
		want    bool
	}{
		"two takes":                   {[]porcupine.Operation{first, second}, true},
		"the second came first":       {[]porcupine.Operation{at(0, 0, 10, false, true, sampleLimit-2), at(1, 5, 15, false, true, sampleLimit-1)}, true},
		"both got the same unit":      {[]porcupine.Operation{first, at(1, 5, 15, false, true, sampleLimit-1)}, false},
		"a peek between":              {[]porcupine.Operation{first, second, at(2, 9, 20, true, true, sampleLimit-1)}, true},
		"a peek that is late":         {[]porcupine.Operation{first, second, at(2, 16, 20, true, true, sampleLimit-1)}, false},
		"denied with units left":      {[]porcupine.Operation{first, at(1, 11, 15, false, false, sampleLimit-1)}, false},
		"a unit that was lost":        {[]porcupine.Operation{first, at(1, 11, 15, false, true, sampleLimit-3)}, false},
		"in the order of their times": {[]porcupine.Operation{at(0, 0, 10, false, true, sampleLimit-2), at(1, 11, 15, false, true, sampleLimit-1)}, false},
	} {
		if got := porcupine.CheckOperations(counter, c.history); got != c.want {
			t.Errorf("%s: in order %t, want %t", name, got, c.want)
		}
	}
}

// TestWaits checks that stalls of the machine are subtracted from a wait before the wait is compared with its bound.
func TestWaits(t *testing.T) {
	l := policyOf("log-local")
	h := &happened{stalls: []span{{100 * ms, 110 * ms}, {1000 * ms, 1200 * ms}}, faults: []struck{{event: event{Fault: processHung, Process: 2}, span: span{0, 9000 * ms}}}}
	wait := func(process int, sent, took time.Duration) answer {
		return answer{limit: l, process: process, sent: sent, received: sent + took, allowed: true, mode: "exact"}
	}
	log := []answer{wait(0, 0, 60*ms), wait(0, 90*ms, 65*ms), wait(0, 300*ms, 75*ms), wait(0, 950*ms, 290*ms), wait(2, 300*ms, 5000*ms)}
	w := waitsOf(h, log)
	if w.Beyond != 2 || w.Most != 30*ms || w.Stall != 200*ms {
		t.Errorf("%d waited too long, by %s at most; the largest stall is %s: want 2, 30ms, 200ms", w.Beyond, w.Most, w.Stall)
	}
	var all waits
	all.merge(w)
	all.merge(waits{ByMillis: map[int]int{1: 9996}})
	if p999, longest, requests := all.quantile(999); p999 != 1 || longest != 290 || requests != 10_000 {
		t.Errorf("p99.9 of %d is %d ms, the longest %d ms", requests, p999, longest)
	}
}

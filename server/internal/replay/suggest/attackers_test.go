package suggest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/raced"
)

// disguise is a log of 150 people, and of attackers whose requests are meant to raise the suggested limits.
type disguise struct {
	name  string
	make  func(o *trafficOptions)
	stops []string // the attackers' addresses
	// least is the minimum share of each attacker's requests that must be denied. It is low for those that send little
	// more than people.
	least float64
}

// disguises returns logs with known answers: the people determine the limit, and the attackers are outliers.
func disguises() []disguise {
	rotation := Attackers{Rotations: 20_000, RotationTime: 100 * time.Minute}
	rotator, flooder := []string{RotatorAddress}, []string{FloodAddress}
	return []disguise{
		{"20 000 requests, each with a new User-Agent", func(o *trafficOptions) { o.Attackers = rotation }, rotator, 0.85},
		{"the same, from the address of 20 people", func(o *trafficOptions) { o.Attackers, o.Decoys = rotation, 20 }, rotator, 0.85},
		{"20 000 requests in 11 hours", func(o *trafficOptions) {
			o.Attackers = Attackers{Rotations: 20_000, RotationTime: 11 * time.Hour, RotationAgents: 500}
		}, rotator, 0.3},
		{"4 equal abusers, 10 requests a second each", func(o *trafficOptions) {
			o.Attackers = Attackers{Equals: 4, EqualEvery: 100 * time.Millisecond, EqualTime: 20 * time.Minute}
		}, addresses(4, EqualAddress), 0.95},
		{"5000 requests in 100 seconds", func(o *trafficOptions) {
			o.Attackers = Attackers{Flood: 5000, FloodTime: 100 * time.Second}
		}, flooder, 0.95},
		{"5000 requests in 5 seconds", func(o *trafficOptions) {
			o.Attackers = Attackers{Flood: 5000, FloodTime: 5 * time.Second}
		}, flooder, 0.95},
		{"8 abusers, each with twice as many requests as the one before: 60 to 7680 a minute", func(o *trafficOptions) {
			o.Attackers = Attackers{Ramp: 8, RampFrom: 600, RampTime: 10 * time.Minute}
		}, addresses(8, RampAddress), 0.55},
	}
}

func addresses(n int, of func(i int) string) (all []string) {
	for i := range n {
		all = append(all, of(i))
	}
	return all
}

// people returns the options for a day with 150 people.
func people(seed uint64) trafficOptions {
	return trafficOptions{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150, Seed: seed}
}

// limitOf returns the suggested limit as text, and how many requests from one key it admits in a minute and in an hour.
func limitOf(r *Result) (words string, minute, hour int64) {
	l, _ := engine.ParseLimit(r.Suggestion.Limit)
	return r.Suggestion.Limit, admits(l, time.Minute), admits(l, time.Hour)
}

// TestAttackersDoNotSetTheLimit checks that the suggestion does not affect people, stops the attackers, or says what else
// would, and is what it is without the attackers, as docs/reference/replay.md states.
func TestAttackersDoNotSetTheLimit(t *testing.T) {
	for _, c := range disguises() {
		for seed := range uint64(raced.Size(2, 1)) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				o, options := people(seed), Options{Key: "client_ip", Deny: 0.001}
				before, _, _ := limitOf(suggested(t, makeTraffic(o), options))
				c.make(&o)
				lines := makeTraffic(o)
				r := suggested(t, lines, options)
				file := r.PoliciesFile(&options, "a test")
				requests, denied := replayed(t, lines, file)
				least := 1.0
				for _, client := range c.stops {
					least = min(least, float64(denied[client])/float64(requests[client]))
					delete(denied, client)
				}
				if least < c.least {
					t.Errorf("%.0f %% of an attacker's requests denied\n%s", 100*least, file)
				}
				for client, n := range denied {
					if n > 0 {
						t.Errorf("%s: %d denied\n%s", client, n, file)
					}
				}
				if len(r.Outliers) != len(c.stops) {
					t.Errorf("%d stand out: %+v", len(r.Outliers), r.Outliers)
				}
				if words, _, _ := limitOf(r); words != before {
					t.Errorf("%s, without the attackers %s", words, before)
				}
				why := strings.Join(r.Suggestion.Why, " ")
				if strings.Contains(why, "No key stands out") {
					t.Error("the suggestion says that no key stands out")
				}
				if slow := strings.Contains(why, `less than half of the requests of "`+c.stops[0]+`": what is slow`); slow != (c.least < 0.5) {
					t.Errorf("slow: %t", slow)
				}
			})
		}
	}
}

// TestActionsOfKeysAreReported checks that the report contains the number of User-Agents and the time span of an outlier's
// requests. It also checks that the report lists the busiest keys even if they are not outliers.
func TestActionsOfKeysAreReported(t *testing.T) {
	o := trafficOptions{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	quiet := suggested(t, makeTraffic(o), Options{Deny: 0.001})
	if len(quiet.Outliers) != 0 || len(quiet.Busiest) != 10 || quiet.Busiest[0].Requests < quiet.Busiest[9].Requests {
		t.Errorf("%+v", quiet.Busiest)
	}
	o.Attackers = Attackers{Flood: 5000, FloodTime: 100 * time.Second}
	r := suggested(t, makeTraffic(o), Options{Deny: 0.001})
	k := r.Outliers[0]
	middle := o.Start.Add(o.Length / 2).UnixMicro()
	if k.Agents != 1 || k.Denied < 4500 || k.From != middle || k.To-k.From > 100*time.Second.Microseconds() {
		t.Errorf("%+v", k)
	}
	if r.Busiest[0].Key != FloodAddress {
		t.Errorf("%+v", r.Busiest[0])
	}
}

// TestNotesNameTheKeyThatSetsTheLimit covers a --deny share of less than one key, and a group of keys that send far
// more than the others but are too numerous to be outliers.
func TestNotesNameTheKeyThatSetsTheLimit(t *testing.T) {
	o := trafficOptions{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	r := suggested(t, makeTraffic(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "--deny 0.1 % of 150 keys is less than one key") || !strings.Contains(notes, "--deny 0.7% leaves one key out") {
		t.Error(notes)
	}
	o.Attackers = Attackers{Equals: 40, EqualEvery: 100 * time.Millisecond, EqualTime: 5 * time.Minute}
	r = suggested(t, makeTraffic(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "40 of 190 keys send at least 10 times as much in a minute as the others") {
		t.Error(notes)
	}
	o.Readers, o.Attackers = 40, Attackers{Equals: 12, EqualEvery: 100 * time.Millisecond, EqualTime: 5 * time.Minute}
	r = suggested(t, makeTraffic(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "12 of 52 keys send at least 10 times as much in a minute as the others") {
		t.Error(notes)
	}
	o.Attackers = Attackers{Ramp: 9, RampFrom: 600, RampTime: 10 * time.Minute}
	r = suggested(t, makeTraffic(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "9 of 49 keys send at least 10 times as much in an hour as the others") {
		t.Error(notes)
	}
}

// TestGapsAmongLightUsers covers logs with too few regular keys for a tail: a hundred keys with 5 requests a day each.
func TestGapsAmongLightUsers(t *testing.T) {
	light := profile{most: [len(Windows)]int64{1, 2, 3, 5, 5}, seconds: 5, minutes: 3}
	abuser := profile{most: [len(Windows)]int64{10, 100, 600, 5000, 5000}, seconds: 500, minutes: 9}
	moment := profile{most: [len(Windows)]int64{1000, 5000, 5000, 5000, 5000}, seconds: 5, minutes: 1}
	export := profile{most: [len(Windows)]int64{10, 40, 60, 60, 60}, seconds: 9, minutes: 1}
	for _, c := range []struct {
		name    string
		added   profile
		n, want int
	}{{"an abuser", abuser, 1, 1}, {"four equal abusers", abuser, 4, 4}, {"a flood of some seconds", moment, 1, 1}, {"a nightly export", export, 1, 0}} {
		all := append(slices.Repeat([]profile{light}, 100), slices.Repeat([]profile{c.added}, c.n)...)
		for i := range all {
			all[i].requests = all[i].most[inDay]
		}
		classify(all)
		outliers := 0
		for i := range all {
			if all[i].outlier {
				outliers++
			}
		}
		if outliers != c.want {
			t.Errorf("%s: %d outliers, want %d", c.name, outliers, c.want)
		}
	}
}

// TestFewKeysThatSetTheLimitAreNamed covers attackers that are not outliers: a burst, and a ramp in small steps. The
// note states the limit that would suffice without them.
func TestFewKeysThatSetTheLimitAreNamed(t *testing.T) {
	options := Options{Key: "client_ip", Deny: 0.001}
	for name, attack := range map[string]Attackers{
		"60 requests in a second":                  {Flood: 60, FloodTime: time.Second},
		"300 in 5 seconds":                         {Flood: 300, FloodTime: 5 * time.Second},
		"2 abusers, 100 and 200 requests a minute": {Ramp: 2, RampFrom: 1000, RampTime: 10 * time.Minute},
	} {
		o := people(0)
		before := suggested(t, makeTraffic(o), options)
		o.Attackers = attack
		r := suggested(t, makeTraffic(o), options)
		_, minute, hour := limitOf(before)
		words, nowMinute, nowHour := limitOf(r)
		noted := strings.Contains(strings.Join(r.Notes, "\n"), "keys set the limit, above all ")
		if doubled := nowMinute > 2*minute || nowHour > 2*hour; doubled != noted {
			t.Errorf("%s: %s admits %d and %d, without them %d and %d; notes %q", name, words, nowMinute, nowHour, minute, hour, r.Notes)
		}
		if noted && strings.Contains(strings.Join(r.Suggestion.Why, " "), "it is there for the day on which one does") {
			t.Errorf("%s: the reasons do not mention the note", name)
		}
	}
}

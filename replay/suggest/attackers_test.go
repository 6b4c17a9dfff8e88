package suggest

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/internal/raced"
	"github.com/headgate/headgate/replay/replaytest"
)

// TestAttackersDoNotSetTheLimits makes logs of people and of disguised attackers. The suggestions must not affect the
// people, must stop the attackers, and must be about the same as without the attackers.
func TestAttackersDoNotSetTheLimits(t *testing.T) {
	people := replaytest.Options{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	rotation := replaytest.Attackers{Rotations: 20_000, RotationTime: 100 * time.Minute}
	for _, c := range []struct {
		name  string
		make  func(o *replaytest.Options)
		stops []string
	}{
		{"a new User-Agent with every request", func(o *replaytest.Options) { o.Attackers = rotation }, []string{replaytest.RotatorAddress}},
		{"one of 300 User-Agents with every request", func(o *replaytest.Options) {
			o.Attackers, o.RotationAgents = rotation, 300
		}, []string{replaytest.RotatorAddress}},
		{"one of 7 User-Agents with every request", func(o *replaytest.Options) {
			o.Attackers, o.RotationAgents = rotation, 7
		}, []string{replaytest.RotatorAddress}},
		{"a rotation from the address of 20 people", func(o *replaytest.Options) {
			o.Attackers, o.Decoys = rotation, 20
		}, []string{replaytest.RotatorAddress}},
		{"one User-Agent from the address of 20 people", func(o *replaytest.Options) {
			o.Attackers, o.RotationAgents, o.Decoys = rotation, 1, 20
		}, []string{replaytest.RotatorAddress}},
		{"another User-Agent every 20 requests", func(o *replaytest.Options) {
			o.Attackers, o.RotationRun = rotation, 20
		}, []string{replaytest.RotatorAddress}},
		{"another User-Agent every 500 requests", func(o *replaytest.Options) {
			o.Attackers, o.RotationRun = rotation, 500
		}, []string{replaytest.RotatorAddress}},
		{"a slow rotation", func(o *replaytest.Options) {
			o.Attackers = replaytest.Attackers{Rotations: 20_000, RotationTime: 11 * time.Hour, RotationAgents: 500}
		}, []string{replaytest.RotatorAddress}},
		{"four equal abusers", func(o *replaytest.Options) {
			o.Attackers = replaytest.Attackers{Equals: 4, EqualEvery: 100 * time.Millisecond, EqualTime: 20 * time.Minute}
		}, []string{replaytest.EqualAddress(0), replaytest.EqualAddress(1), replaytest.EqualAddress(2), replaytest.EqualAddress(3)}},
		{"5000 requests in 100 s", func(o *replaytest.Options) {
			o.Attackers = replaytest.Attackers{Flood: 5000, FloodTime: 100 * time.Second}
		}, []string{replaytest.FloodAddress}},
		{"5000 requests in 5 s", func(o *replaytest.Options) {
			o.Attackers = replaytest.Attackers{Flood: 5000, FloodTime: 5 * time.Second}
		}, []string{replaytest.FloodAddress}},
	} {
		for seed := range uint64(raced.Size(2, 1)) {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				o := people
				o.Seed = seed
				options := Options{Key: "client_ip", Deny: 0.001}
				alone := suggested(t, replaytest.Make(o), options)
				c.make(&o)
				lines := replaytest.Make(o)
				r := suggested(t, lines, options)
				file := r.PoliciesFile(&options, "a test")
				requests, denied := replayed(t, lines, file)
				for _, client := range c.stops {
					if share := float64(denied[client]) / float64(requests[client]); share < 0.8 {
						t.Errorf("%s: %.0f %% denied\n%s", client, 100*share, file)
					}
					delete(denied, client)
				}
				for client, n := range denied {
					if n > 0 {
						t.Errorf("%s: %d denied\n%s", client, n, file)
					}
				}
				if len(r.Outliers) != len(c.stops) || len(r.Shared) > 0 {
					t.Errorf("%d stand out, %d are shared: %+v", len(r.Outliers), len(r.Shared), r.Outliers)
				}
				if got, most := r.Suggestions[0].Burst, 2*alone.Suggestions[0].Burst; got > most {
					t.Errorf("burst %d with the attackers, %d without", got, alone.Suggestions[0].Burst)
				}
				if strings.Contains(strings.Join(r.Suggestions[0].Why, " "), "No key stands out") {
					t.Error("the suggestion says that no key stands out")
				}
			})
		}
	}
}

// TestWhatKeysDidIsSaid checks that the report has the path, the status, the User-Agent and the time span of an
// outlier's requests, and lists the busiest keys even if they are not outliers.
func TestWhatKeysDidIsSaid(t *testing.T) {
	o := replaytest.Options{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	quiet := suggested(t, replaytest.Make(o), Options{Deny: 0.001})
	if len(quiet.Outliers) != 0 || len(quiet.Busiest) != 10 || quiet.Busiest[0].Requests < quiet.Busiest[9].Requests {
		t.Errorf("%+v", quiet.Busiest)
	}
	o.Attackers = replaytest.Attackers{Flood: 5000, FloodTime: 100 * time.Second}
	r := suggested(t, replaytest.Make(o), Options{Deny: 0.001})
	k := r.Outliers[0]
	middle := o.Start.Add(o.Length / 2).UnixMicro()
	if k.Did != (Did{Path: "GET /search", Status: 200, Agent: "curl/8.11"}) || k.From != middle || k.To-k.From > 100*time.Second.Microseconds() {
		t.Errorf("%+v", k)
	}
	if r.Busiest[0].Key != replaytest.FloodAddress {
		t.Errorf("%+v", r.Busiest[0])
	}
}

// TestNotesNameTheKeyThatSetsTheLimit covers a share of --deny that is less than one key, and a group that is too
// large to be outliers but sends far more than the others.
func TestNotesNameTheKeyThatSetsTheLimit(t *testing.T) {
	o := replaytest.Options{Start: time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC), Length: 24 * time.Hour, Readers: 150}
	r := suggested(t, replaytest.Make(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "--deny 0.1 % of 150 keys is less than one key") || !strings.Contains(notes, "--deny 0.7% leaves one key out") {
		t.Error(notes)
	}
	o.Attackers = replaytest.Attackers{Equals: 40, EqualEvery: 100 * time.Millisecond, EqualTime: 5 * time.Minute}
	r = suggested(t, replaytest.Make(o), Options{Deny: 0.001})
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "40 of 190 keys send at least 10 times as much in a minute as the others") {
		t.Error(notes)
	}
}

// TestSharedLimitIsProposedWhereALimitPerKeyDeniesNearlyAll uses a log with as many requests per second as keys.
func TestSharedLimitIsProposedWhereALimitPerKeyDeniesNearlyAll(t *testing.T) {
	var lines []replaytest.Line
	at := time.Date(2026, time.November, 20, 6, 0, 0, 0, time.UTC)
	for i := range 6000 {
		lines = append(lines, replaytest.Line{Time: at.Add(time.Duration(i) * 20 * time.Millisecond), Client: "10.0." + []string{"1", "2", "3", "4"}[i%4] + ".1", Path: "/", Status: 200})
	}
	r := suggested(t, lines, Options{Deny: 0.001, Total: 10})
	if !strings.Contains(r.Protections[0], "One limit of all keys denies what is too much alone: --key '{const: all}' --max-second 10.") || r.Effect.Denied != 0 {
		t.Errorf("%q, %d denied", r.Protections, r.Effect.Denied)
	}
}

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/headgate/headgate/lab/redistest"
)

var (
	seeds      = flag.Int("seeds", 0, "how many seeds run; 0 runs fixed schedules of 28 and 17 s")
	first      = flag.Uint64("first", 0, "the first seed")
	lastFor    = flag.Duration("for", 45*time.Second, "how long a seed runs")
	deployment = flag.String("deployment", "", "standalone, sentinel or cluster; by default the seeds take turns, and both fixed schedules run")
	flavor     = flag.String("flavor", string(redistest.Redis), "redis or valkey: the kind of servers")
	only       = flag.String("fault", "", "strike only this fault, again and again")
	results    = flag.String("results", "", "a file to which results are added; seeds that it has do not run again")
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{})
	zerolog.SetGlobalLevel(zerolog.Disabled) // the proxies log each fault
	// A proxy that is stopped during a write sometimes leaks the goroutine that copies the bytes.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"))
}

// silence is a logger for clients whose servers are killed on purpose. It logs nothing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// TestChaos runs seeds one after another. If a promise is broken, it fails with the seed's schedule and the command
// that repeats the run.
func TestChaos(t *testing.T) {
	var all []*result
	if *results != "" {
		var err error
		if all, err = load(*results); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range schedules() {
		s.Flavor = redistest.Flavor(*flavor)
		if slices.ContainsFunc(all, func(r *result) bool { return r.Seed == s.Seed && r.Deployment == s.Deployment }) {
			continue
		}
		t.Run(fmt.Sprintf("%s-%d", s.Deployment, s.Seed), func(t *testing.T) {
			r := strike(t, s)
			for _, v := range r.Violations {
				t.Errorf("%s", v)
			}
			if len(r.Violations) > 0 {
				t.Logf("%sagain: go test ./chaos -run TestChaos -seeds %d -first %d -for %s -deployment %s -flavor %s -fault %q", s, min(1, *seeds), s.Seed, s.Span, s.Deployment, s.Flavor, *only)
			}
			all = append(all, r)
			if *results != "" {
				if err := r.save(*results); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	if testing.Verbose() {
		tables(os.Stdout, all)
	}
}

// schedules returns the schedules selected by the flags, or the short ones if no flag selects any.
func schedules() (all []schedule) {
	if *seeds == 0 {
		return slices.DeleteFunc(short(), func(s schedule) bool { return *deployment != "" && s.Deployment != *deployment })
	}
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		s := plan(seed, *deployment, *lastFor)
		if *only != "" {
			s = s.only(*only)
		}
		all = append(all, s)
	}
	return all
}

// strike runs one seed, audits its log, and returns the result.
func strike(t *testing.T, s schedule) *result {
	w := newWorld(t, s)
	w.run()
	leaks := w.end()
	f := audit(&w.happened, w.callers.answers, w.callers.holds)
	f.violations = slices.Concat(f.violations, w.early, w.swollen, w.minority, w.sampler.broken, leaks)
	r := report(s, &w.happened, w.callers.answers, w.callers.holds, f)
	r.Histories = w.sampler.checked
	for i := range w.callers.answers {
		if a := &w.callers.answers[i]; a.class == "stuck" && !w.happened.stands(a) {
			r.Violations = append(r.Violations, violation{"stuck", fmt.Sprintf("a caller of process %d had no answer for %s, at %s", a.process, a.received-a.sent, seconds(a.sent))})
		}
	}
	if want := 20 * int(s.Span.Seconds()); r.Requests < want {
		t.Errorf("%d requests were sent, want %d at least: the seed shows nothing", r.Requests, want)
	}
	return r
}

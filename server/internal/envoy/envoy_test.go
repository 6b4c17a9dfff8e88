package envoy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a service in memory, with a clock set by the test.
type fixture struct {
	*Service
	t     *testing.T
	clock *headgatetest.Clock
	// failing makes every decision fail.
	failing error
	// operations lists the kinds of the decided operations.
	operations []engine.Kind
	limiter    *headgate.Limiter
	policies   *policy.Config // the active policies: made from the rules, with changes
	made       []policy.External
	calls      int
}

// options returns the options for a service whose rules are policies.
func (f *fixture) options(o Options) Options {
	f.policies = policy.Empty()
	o.SetPolicies = func(made []policy.External) { f.made, f.policies = made, policy.Empty().WithExternal(made) }
	return o
}

// change changes the rules' policies, as an operator would.
func (f *fixture) change(changes ...policy.Change) {
	f.t.Helper()
	changed, left := policy.Empty().WithExternal(f.made).With(changes)
	if len(left) > 0 {
		f.t.Fatal(left)
	}
	f.policies = changed
}

// decided decides requests by the active policies.
func (f *fixture) decided(ctx context.Context, requests []decide.Request, responses []decide.Response) {
	f.calls++
	filelimit.New(f.policies, f.limiter).Do(ctx, requests, responses)
}

// failingStore fails while the failing field of its fixture is set.
type failingStore struct {
	engine.Store

	of *fixture
}

func (s *failingStore) Do(ctx context.Context, ops []engine.Op, results []engine.Answer) {
	s.Store.Do(ctx, ops, results)
	for i := range results {
		if s.of.failing != nil {
			results[i] = engine.Answer{Err: s.of.failing}
		}
	}
}

// serving returns a service whose configuration is a single file.
func serving(t *testing.T, options Options, yaml string) *fixture {
	t.Helper()
	clock := headgatetest.NewClock()
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	f := &fixture{t: t, clock: clock}
	f.limiter = headgate.New(headgate.WithStore(&failingStore{store, f}), headgate.WithCore(func(c *core.Config) {
		c.Observer = func(_ context.Context, op *engine.Op, _ *engine.Answer) {
			f.operations = append(f.operations, op.Kind)
		}
	}))
	f.Service = New(f.options(options), f.decided)
	f.load(yaml)
	return f
}

func (f *fixture) load(yaml string) {
	f.t.Helper()
	if _, err := f.Load([]File{{Name: "test.yaml", Data: []byte(yaml)}}); err != nil {
		f.t.Fatal(err)
	}
}

// described parses a descriptor written as "key=value,key=value". The suffix " x3" means hits, " -x3" hits to give
// back, " limit=5/MINUTE" an override, and " limit=5/30/SECOND" an override with a multiplier.
func described(t *testing.T, text string) *ratelimit.RateLimitDescriptor {
	t.Helper()
	words := strings.Fields(text)
	d := &ratelimit.RateLimitDescriptor{}
	for entry := range strings.SplitSeq(words[0], ",") {
		key, value, _ := strings.Cut(entry, "=")
		d.Entries = append(d.Entries, &ratelimit.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	for _, w := range words[1:] {
		if limit, ok := strings.CutPrefix(w, "limit="); ok {
			parts := strings.Split(limit, "/")
			d.Limit = &ratelimit.RateLimitDescriptor_RateLimitOverride{Unit: typev3.RateLimitUnit(typev3.RateLimitUnit_value[parts[len(parts)-1]])}
			scan(t, parts[0], &d.Limit.RequestsPerUnit)
			if len(parts) == 3 {
				d.Limit.UnitMultiplier = &wrapperspb.UInt32Value{}
				scan(t, parts[1], &d.Limit.UnitMultiplier.Value)
			}
			continue
		}
		hits, negative := strings.CutPrefix(w, "-")
		d.IsNegativeHits, d.HitsAddend = negative, &wrapperspb.UInt64Value{}
		scan(t, strings.TrimPrefix(hits, "x"), &d.HitsAddend.Value)
	}
	return d
}

func scan(t *testing.T, text string, to any) {
	t.Helper()
	if _, err := fmt.Sscan(text, to); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request for the domain d. It returns the answer as text: the overall code, then for each descriptor its
// code, the remaining units, the limit, and the seconds until the window ends, such as "OK: OK 4/5 60s".
func (f *fixture) ask(descriptors ...string) string {
	f.t.Helper()
	request := &pb.RateLimitRequest{Domain: "d"}
	for _, text := range descriptors {
		request.Descriptors = append(request.Descriptors, described(f.t, text))
	}
	response, err := f.ShouldRateLimit(context.Background(), request)
	if err != nil {
		return "error: " + err.Error()
	}
	statuses := make([]string, len(response.Statuses))
	for i, s := range response.Statuses {
		statuses[i] = s.Code.String()
		switch {
		case s.CurrentLimit != nil:
			statuses[i] += fmt.Sprintf(" %d/%d %ds", s.LimitRemaining, s.CurrentLimit.RequestsPerUnit, s.DurationUntilReset.GetSeconds())
		case s.LimitRemaining != 0:
			statuses[i] += " unlimited"
		}
	}
	return response.OverallCode.String() + ": " + strings.Join(statuses, ", ")
}

func (f *fixture) want(answer string, descriptors ...string) {
	f.t.Helper()
	if got := f.ask(descriptors...); got != answer {
		f.t.Errorf("%q\n got %s\nwant %s", descriptors, got, answer)
	}
}

// stats returns, for each rule's name, the counters that are not 0, such as "total=3 over=1".
func (f *fixture) stats() map[string]string {
	all := map[string]string{}
	for _, s := range f.Stats().Rules {
		text := ""
		for _, c := range []struct {
			name string
			n    uint64
		}{{"total", s.TotalHits}, {"over", s.OverLimit}, {"near", s.NearLimit}, {"within", s.WithinLimit}, {"shadow", s.ShadowMode}} {
			if c.n > 0 {
				text += fmt.Sprintf(" %s=%d", c.name, c.n)
			}
		}
		if text != "" {
			all[s.Name] = text[1:]
		}
	}
	return all
}

func allDescribed(t *testing.T, texts ...string) (list []*ratelimit.RateLimitDescriptor) {
	for _, text := range texts {
		list = append(list, described(t, text))
	}
	return list
}

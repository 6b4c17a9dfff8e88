package decide_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
)

const itemPolicies = `
policies:
  address: {algorithm: fixed-window, limit: 3, window: 1h}
  plan:    {algorithm: fixed-window, limit: 10, window: 1h, cost: 2, shadow: {limit: 1}}
  quiet:   {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
  open:    {algorithm: fixed-window, limit: 1, window: 1h, failure: allow}
  closed:  {algorithm: fixed-window, limit: 1, window: 1h, failure: deny}
  nobody:  {deny: true}
overrides: [{policy: plan, key: vip, set: {limit: 100}}]
`

func itemLimiter(t *testing.T, wrap func(engine.Store) engine.Store) *filelimit.Limiter {
	t.Helper()
	config, err := policy.Parse("x.yaml", []byte(itemPolicies))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: headgatetest.NewClock().Now})
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New(headgate.WithStore(wrap(store)))
	t.Cleanup(func() { _ = limiter.Close() })
	return filelimit.New(config, limiter)
}

// failing is a store whose server rejects every command, as for a wrong password.
type failing struct{ engine.Store }

func (failing) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		results[i].Err = errors.New("WRONGPASS")
	}
}

func asIs(s engine.Store) engine.Store { return s }

func ask(t *testing.T, l *filelimit.Limiter, r decide.Request) *decide.Response {
	t.Helper()
	responses := make([]decide.Response, 1)
	l.Do(t.Context(), []decide.Request{r}, responses)
	return &responses[0]
}

// TestItems checks that several charges, each with its own key and cost, are charged all or nothing. Each key has its
// own overrides, and the response names the limit that denied.
func TestItems(t *testing.T) {
	l := itemLimiter(t, asIs)
	both := func(address, plan string) decide.Request {
		return decide.Request{Kind: engine.OpAllow, Items: []decide.Item{{Policy: "address", Key: address}, {Policy: "plan", Key: plan}, {Policy: "quiet", Key: plan}}}
	}
	want := func(r *decide.Response, want string) {
		t.Helper()
		got := fmt.Sprint(r.Allowed, " ", r.Policy, " ", r.Key)
		for i := range r.Count() {
			c := r.Charge(i)
			got += fmt.Sprint(" ", c.Policy, " ", slices.Collect(c.Covered()), " ", c.Cost, " ", r.Of(i).Remaining)
		}
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	want(ask(t, l, both("1.2.3.4", "ann")), "true address 1.2.3.4 address [0] 1 2 plan [1] 2 8")
	want(ask(t, l, both("1.2.3.4", "vip")), "true address 1.2.3.4 address [0] 1 1 plan [1] 2 98")
	want(ask(t, l, both("1.2.3.4", "bob")), "true address 1.2.3.4 address [0] 1 0 plan [1] 2 8")
	want(ask(t, l, both("1.2.3.4", "ann")), "false address 1.2.3.4 address [0] 1 0 plan [1] 2 8")
	want(ask(t, l, both("5.6.7.8", "ann")), "true address 5.6.7.8 address [0] 1 2 plan [1] 2 6")
	quiet := decide.Request{Kind: engine.OpAllow, Shadowed: true, Items: []decide.Item{{Policy: "quiet", Key: "new"}}}
	for i, allowed := range []bool{true, false} {
		r := ask(t, l, quiet)
		if !r.Allowed || len(r.Shadows) != 1 || r.Shadows[0].Allowed != allowed || r.Key != "new" {
			t.Errorf("%d: a shadow alone: %+v", i, r)
		}
	}
	if r := ask(t, l, decide.Request{Items: []decide.Item{{Policy: "address", Key: "k"}, {Policy: "none", Key: "k"}}}); !errors.Is(r.Err, headgate.ErrInvalid) {
		t.Errorf("an unknown policy: %+v", r)
	}
	// regression: bug 203
	many := slices.Repeat([]decide.Item{{Policy: "address", Key: "many"}}, 33)
	if r := ask(t, l, decide.Request{Kind: engine.OpPeek, Items: many}); r.Err == nil || !strings.Contains(r.Err.Error(), "charges is 33; accepted: 1 to 32 in one request") {
		t.Errorf("33 items: %+v", r)
	}
}

// TestItemsOfOneCounter checks that two items on one counter become one charge with the sum of their costs, under the
// smaller of their limits. Shadows in the response reports the remaining units of the larger limit, for the item with
// this limit.
func TestItemsOfOneCounter(t *testing.T) {
	own := &decide.InlineRules{Space: "own"}
	item := func(units int64) decide.Item {
		return decide.Item{Limit: rule.FixedWindow(rule.PerHour(units)), Inline: own, Key: "k", Cost: 2, HasCost: true}
	}
	for _, c := range []struct{ first, second int64 }{{9, 5}, {5, 9}, {5, 5}} {
		l := itemLimiter(t, asIs)
		r := ask(t, l, decide.Request{Kind: engine.OpAllow, Shadowed: true, Items: []decide.Item{item(c.first), item(c.second)}})
		if r.Count() != 1 || r.Charge(0).Cost != 4 || r.Charge(0).Items != 0b11 || r.Of(0).Remaining != 1 {
			t.Errorf("%+v: %+v", c, r)
		}
		if c.first == c.second {
			continue
		}
		if len(r.Shadows) != 1 || r.Shadows[0].Binds().Remaining != 5 || c.first == 9 && r.Shadows[0].Item != 0 || c.second == 9 && r.Shadows[0].Item != 1 {
			t.Errorf("%+v: what the larger limit has: %+v", c, r.Shadows)
		}
	}
}

// TestItemsDoNotWrap checks that the sum of costs, and of used units, on one counter does not wrap, and that a negative
// cost is an error whatever is added to it.
func TestItemsDoNotWrap(t *testing.T) {
	l := itemLimiter(t, asIs)
	own := &decide.InlineRules{Space: "own"}
	of := func(costs ...int64) (items []decide.Item) {
		for _, cost := range costs {
			items = append(items, decide.Item{Limit: rule.FixedWindow(rule.PerHour(10)), Inline: own, Key: "k", Cost: cost, HasCost: true})
		}
		return items
	}
	for _, costs := range [][]int64{{1 << 62, 1 << 62, 1 << 62, 1 << 62}, {math.MaxInt64, math.MaxInt64, 3}} {
		for _, kind := range []engine.Kind{engine.OpAllow, engine.OpReserve} {
			if r := ask(t, l, decide.Request{Kind: kind, Items: of(costs...)}); r.Err != nil || r.Allowed || r.Binds().RetryAfter != headgate.Never {
				t.Errorf("%s of %d: %+v", kind, costs, r)
			}
		}
	}
	if r := ask(t, l, decide.Request{Kind: engine.OpAllow, Items: of(3, -2)}); !errors.Is(r.Err, headgate.ErrInvalid) {
		t.Errorf("a negative cost: %+v", r)
	}
	r := ask(t, l, decide.Request{Kind: engine.OpReserve, Items: of(1, 1, 1, 1)})
	if r = ask(t, l, decide.Request{Kind: engine.OpSettle, Reservation: r.Reservation, Used: []int64{1 << 62, 1 << 62, 1 << 62, 1 << 62}}); r.Err != nil || !r.Found {
		t.Errorf("a commit of 2^64 units: %+v", r)
	}
	if r := ask(t, l, decide.Request{Kind: engine.OpPeek, Items: of(1)}); r.Allowed {
		t.Errorf("after it: %+v", r)
	}
}

// TestUseOfAnItemOfNothing checks that units of an item that reserved none are an error, because a settlement cannot charge
// them. A shadow charges none itself (regression: bug 283).
func TestUseOfAnItemOfNothing(t *testing.T) {
	l := itemLimiter(t, asIs)
	items := []decide.Item{{Policy: "address", Key: "k"}, {Policy: "plan", Key: "k", HasCost: true}, {Policy: "quiet", Key: "k"}}
	for field, used := range map[string][]int64{"actual.1": {1, 1, 1}, "": {1, 0, 5}} {
		r := ask(t, l, decide.Request{Kind: engine.OpReserve, Items: items})
		r = ask(t, l, decide.Request{Kind: engine.OpSettle, Reservation: r.Reservation, Used: used})
		input, failed := errors.AsType[*engine.InputError](r.Err)
		if failed != (field != "") || failed && input.Field != field {
			t.Errorf("%d: %v, want an error of %q", used, r.Err, field)
		}
	}
}

// TestFailureOfItems checks that the strictest failure mode applies to all items.
func TestFailureOfItems(t *testing.T) {
	l := itemLimiter(t, func(s engine.Store) engine.Store { return failing{s} })
	ofAll := func(names ...string) (items []decide.Item) {
		for _, name := range names {
			items = append(items, decide.Item{Policy: name, Key: "k"})
		}
		return items
	}
	if r := ask(t, l, decide.Request{Items: ofAll("open", "open")}); r.Err != nil || !r.Allowed {
		t.Errorf("all pass: %+v", r)
	}
	if r := ask(t, l, decide.Request{Items: ofAll("closed", "open")}); r.Err == nil {
		t.Errorf("one denies: %+v", r)
	}
}

// TestCount checks that a single fixed window counts all hits, including denied ones. Other limits are charged for the
// hits only if they allow them. With 0 hits, they answer a peek for one unit.
func TestCount(t *testing.T) {
	l := itemLimiter(t, asIs)
	count := func(q decide.Request, cost int64) *decide.Response {
		q.Kind, q.Key, q.Cost, q.HasCost = engine.OpCount, "k", cost, true
		return ask(t, l, q)
	}
	window, bucket := decide.Request{Item: decide.Item{Policy: "address"}}, decide.Request{Item: decide.Item{Limit: rule.TokenBucket(rule.PerHour(2))}}
	for _, c := range []struct {
		q       decide.Request
		cost    int64
		allowed bool
		left    int64
	}{
		{window, 5, false, 0},
		{window, 0, false, 0},
		{bucket, 3, false, 2},
		{bucket, 2, true, 0},
		{bucket, 0, false, 0},
		{decide.Request{Item: decide.Item{Policy: "nobody"}}, 1, false, 0},
		{decide.Request{Item: decide.Item{Policy: "nobody", Limit: rule.FixedWindow(rule.PerHour(1))}, CountDenied: true}, 0, true, 1},
		{decide.Request{Item: decide.Item{Policy: "gone", Limit: rule.FixedWindow(rule.PerHour(8))}}, 1, true, 7},
	} {
		r := count(c.q, c.cost)
		if r.Err != nil || r.Allowed != c.allowed || r.Binds().Remaining != c.left {
			t.Errorf("%+v of %d: %+v", c.q, c.cost, r)
		}
	}
}

// TestEstimateMax checks that, with estimate_max, a reserve for more than the capacity charges the capacity, and that
// the settle also charges the units used above it.
func TestEstimateMax(t *testing.T) {
	config, err := policy.Parse("p.yaml", []byte(`
policies:
  tokens: {algorithm: token-bucket, rate: 100/1m, estimate_max: capacity}
  both: {all: [10/1m, 100/1h], estimate_max: capacity}
  strict: {algorithm: token-bucket, rate: 100/1m}
  watched: {algorithm: token-bucket, rate: 100/1m, shadow: true}
`))
	if err != nil {
		t.Fatal(err)
	}
	limiter := headgate.New()
	defer limiter.Close()
	l := filelimit.New(config, limiter)
	ask := func(r decide.Request) decide.Response {
		t.Helper()
		var answers [1]decide.Response
		if l.Do(context.Background(), []decide.Request{r}, answers[:]); answers[0].Err != nil {
			t.Fatal(answers[0].Err)
		}
		return answers[0]
	}
	reserve := decide.Request{Kind: engine.OpReserve, Items: []decide.Item{
		{Policy: "tokens", Key: "k", Cost: 1024, HasCost: true}, {Policy: "both", Key: "k", Cost: 1024, HasCost: true},
	}}
	first := ask(reserve)
	if !first.Allowed || first.Charge(0).Cost != 100 || first.Charge(1).Cost != 10 || first.Charge(2).Cost != 100 {
		t.Fatalf("%+v", first)
	}
	if second := ask(reserve); second.Allowed || second.Binds().RetryAfter > time.Hour {
		t.Errorf("the second has to wait: %+v", second.Answer)
	}
	settle := decide.Request{Kind: engine.OpSettle, Reservation: first.Reservation, Used: []int64{150, 12}}
	if a := ask(settle); !a.Found || a.Dropped != 0 {
		t.Errorf("%+v", a)
	}
	if d, err := l.Peek(context.Background(), "tokens", "k", 1); err != nil || d.RetryAfter < 30*time.Second || d.RetryAfter > 31*time.Second {
		t.Errorf("51 tokens are missing at 100 a minute: %+v, %v", d, err)
	}
	if d := ask(decide.Request{Kind: engine.OpReserve, Item: decide.Item{Policy: "strict", Key: "k", Cost: 1024, HasCost: true}}); d.Binds().RetryAfter != headgate.Never {
		t.Errorf("%+v", d.Answer)
	}
	if d := ask(decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "tokens", Key: "other", Cost: 1024, HasCost: true}}); d.Binds().RetryAfter != headgate.Never {
		t.Errorf("a take is no estimate: %+v", d.Answer)
	}
	watched := ask(decide.Request{Kind: engine.OpReserve, Items: []decide.Item{{Policy: "watched", Key: "k"}}})
	if !watched.Allowed || watched.Reservation == "" {
		t.Errorf("%+v", watched)
	}
}

// A limiter that New did not make, also one with a file from Replace, returns an error for each request, and middleware with
// it answers 500, also with FailOpen (regression: bugs 209, 255).
func TestLimiterThatWasNotMade(t *testing.T) {
	var replaced filelimit.Limiter
	replaced.Replace(&policy.Config{})
	for _, l := range []*filelimit.Limiter{nil, {}, &replaced} {
		_, allow := l.Allow(t.Context(), "plan", "k")
		_, reset := l.Reset(t.Context(), "plan", "k")
		_, request := l.AllowRequest(httptest.NewRequest(http.MethodGet, "/", nil))
		_, charge := l.ChargeRequest(httptest.NewRequest(http.MethodGet, "/", nil), true)
		responses := make([]decide.Response, 2)
		l.Do(t.Context(), make([]decide.Request, 2), responses)
		for i, err := range []error{allow, reset, request, charge, responses[0].Err, responses[1].Err} {
			if !errors.Is(err, headgate.ErrInvalid) {
				t.Error(i, err)
			}
		}
		for _, options := range [][]httplimit.Option{nil, {httplimit.WithError(httplimit.FailOpen)}} {
			w := httptest.NewRecorder()
			httplimit.By(l, options...)(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
			if w.Code != http.StatusInternalServerError {
				t.Errorf("status %d", w.Code)
			}
		}
	}
}

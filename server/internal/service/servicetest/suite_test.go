// Package servicetest is a suite of requests that every front end must answer in the same way. A front end's test
// wraps the front end in a [Front] and calls [Run].
package servicetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/headgatetest"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/filelimit"
	"github.com/headgate/headgate/server/internal/service"
)

// Policies is the suite's policies file.
const Policies = `
policies:
  reply:  {algorithm: sliding-log, limit: 5, window: 1m}
  bucket: {algorithm: token-bucket, rate: 10/s, burst: 20, cost: 2}
  pace:   {algorithm: pacer, rate: 2/s, max_wait: 1s}
  day:    {algorithm: fixed-window, limit: 3, window: 1d, align: Asia/Shanghai}
  both:   {all: [reply, {name: total, algorithm: fixed-window, limit: 100, window: 1h}]}
  month:  {algorithm: fixed-window, limit: 3, window: 30d}
  credit: {algorithm: fixed-window, limit: 5, window: 36525d}
  calls:  {first: [month, credit]}
  lanes:  {algorithm: fixed-window, limit: 10, window: 1h, classes: [{name: live}, {name: batch, leaves: 30%}, {name: idle, leaves: 5}]}
  slots:  {algorithm: concurrency, limit: 4, lease: 30s, classes: [{name: live}, {name: batch, leaves: 2}]}
  quiet:  {algorithm: fixed-window, limit: 1, window: 1h, shadow: true}
  off:    {algorithm: fixed-window, limit: 1, window: 1h, enabled: false}
  open:   {algorithm: fixed-window, limit: 1, window: 1h, failure: allow}
  jobs:   {algorithm: concurrency, limit: 2, lease: 30s}
  pool:   {algorithm: concurrency, limit: 1, lease: 30s, shadow: true}
  shared: {algorithm: fair-concurrency, limit: 20, lease: 30s, classes: [{name: paid, weight: 3}, {name: free}]}
  run:    {algorithm: fixed-window, limit: 100, window: 1h, settle_within: 10s, unsettled: release}
  nobody: {deny: true}
  anyone: {unlimited: true}
overrides:
  - {policy: lanes, key: "live-*", class: live}
  - {policy: jobs, key: banned, deny: true}
  - {policy: shared, key: vip, class: paid}
  - {policy: jobs, key: vip, unlimited: true}
  - {policy: bucket, key: "partner-*", set: {rate: 100/s, burst: 200}}
  - {policy: bucket, key: "partner-bad", deny: true}
`

// Request is one request to a front end.
type Request struct {
	Kind   engine.Kind
	Policy string
	// Throttle is an inline token bucket if Policy is empty: its capacity, the count of its rate, and the period in
	// seconds.
	Throttle [3]int64
	Key      string
	Cost     int64 // −1 if the request has none
	// Charges contains several charges, which replace Policy, Key and Cost.
	Charges []Charge
	// MaxDelay is the longest delay that a reserve accepts, in ms. It is −1 if the request states none.
	MaxDelay int64
	// Of is the number, from 1, of the step whose answer contains the reservation or id for this request. The suite
	// copies it to Handle. Of is 0 if the request needs none. Commits is true for a commit (of Cost units, or of Used
	// for each charge), and false for a cancel.
	Of      int
	Handle  string
	Commits bool
	Used    []int64
	// Reports is true if the request reports the units in Used instead of committing them.
	Reports bool
	// Class is the class of a take, peek, give, reserve or acquire, or "" if the request has none.
	Class string
}

// Decide returns the request for package decide. ok is false if the limit is invalid.
func (r *Request) Decide() (q decide.Request, ok bool) {
	q = decide.Request{
		Kind: r.Kind, Item: decide.Item{Policy: r.Policy, Key: r.Key, Cost: r.Cost, HasCost: r.Cost >= 0}, MaxDelay: time.Duration(max(r.MaxDelay, 0)) * time.Millisecond, Class: r.Class,
	}
	switch {
	case r.Kind == engine.OpSettle:
		q.Reservation = r.Handle
		q.Used, q.Reports = r.Used, r.Reports
	case r.Kind >= engine.OpAcquire && r.Kind <= engine.OpRelease:
		q.ID = r.Handle
	}
	for _, c := range r.Charges {
		q.Items = append(q.Items, decide.Item{Policy: c.Policy, Key: c.Key, Cost: c.Cost, HasCost: c.Cost >= 0})
	}
	if r.Policy == "" && r.Kind != engine.OpSettle && r.Charges == nil {
		q.Limit = rule.TokenBucket(rule.Per(r.Throttle[1], time.Duration(r.Throttle[2])*time.Second), rule.Burst(r.Throttle[0]))
		return q, q.Limit.Err() == nil
	}
	return q, true
}

// Answer holds the values that every front end can return, each in the coarsest unit of any front end.
type Answer struct {
	Allowed, Unlimited, Never, Found bool
	Limit, Remaining                 int64
	RetrySeconds, ResetSeconds       int64
	DelayMillis                      int64
	// Failed is true if there was no decision. In that case Code is the class of the error.
	Failed bool
	Code   service.Code
	// Handle is the reservation from a reserve, or the id from an acquire. LeaseMillis is how long the permit lasts.
	Handle      string
	LeaseMillis int64
	// Limits contains the answer for each limit of several charges: see LimitsText.
	Limits string
	// Paid is the charged limit of a policy with "first".
	Paid string
}

// some matches any handle in an expected answer.
const some = "some"

// Front is a front end under test.
type Front interface {
	// Do sends a request and returns the answer.
	Do(t *testing.T, r Request) Answer
}

// Run runs each case on a new service through the front end that open returns for it, and compares every answer.
func Run(t *testing.T, open func(t *testing.T, s *service.Service) Front) {
	t.Helper()
	run(t, nil, func(t *testing.T, g *ground) Front {
		return open(t, service.New(service.Config{Limiter: g.limiter.Core(), Policies: g.config.Policies, Failure: g.failure, AllowWrites: !g.readOnly}))
	})
}

// RunLibrary runs the cases on a limiter from package decide, without a service. It skips the cases about rights,
// which do not exist in a Go program.
func RunLibrary(t *testing.T, open func(t *testing.T, l *filelimit.Limiter) Front) {
	t.Helper()
	run(t, func(c *testCase) bool { return !c.readOnly }, func(t *testing.T, g *ground) Front {
		return open(t, filelimit.New(g.config, g.limiter, filelimit.WithFailure(g.failure)))
	})
}

// run runs the selected cases. If wanted is nil, it runs all cases.
func run(t *testing.T, wanted func(c *testCase) bool, open func(t *testing.T, g *ground) Front) {
	t.Helper()
	for _, c := range slices.Concat(cases, listCases) {
		if wanted != nil && !wanted(&c) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			clock := headgatetest.NewClock()
			front := open(t, newGround(t, clock, &c))
			handles := []string{""}
			for i, s := range c.steps {
				clock.Advance(s.after)
				if s.request.Of > 0 {
					s.request.Handle = handles[s.request.Of]
				}
				got := front.Do(t, s.request)
				handles = append(handles, got.Handle)
				if got.Handle != "" {
					got.Handle = some
				}
				if got != s.want {
					t.Errorf("step %d: %+v\n got %+v\nwant %+v\nbecause %s", i, s.request, got, s.want, c.why)
				}
			}
		})
	}
}

// ground contains the policies and the limiter that a case runs with.
type ground struct {
	config   *policy.Config
	limiter  *headgate.Limiter
	failure  policy.Failure // failure mode of inline limits
	readOnly bool
}

func newGround(t *testing.T, clock *headgatetest.Clock, c *testCase) *ground {
	t.Helper()
	config, err := policy.Parse("servicetest.yaml", []byte(Policies))
	if err != nil {
		t.Fatal(err)
	}
	store, err := memstore.New(memstore.Config{Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	failure, limiter := policy.Deny, headgate.New(headgate.WithStore(store))
	if c.away {
		failure, limiter = policy.Allow, headgate.New(headgate.WithStore(awayStore{store}))
	}
	t.Cleanup(func() {
		if err := limiter.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ground{config: config, limiter: limiter, failure: failure, readOnly: c.readOnly}
}

type testCase struct {
	name     string
	why      string
	readOnly bool
	away     bool // the store does not answer, and inline limits have failure: allow
	steps    []step
}

// awayStore fails every operation, like a store whose server cannot be reached.
type awayStore struct{ engine.Store }

func (awayStore) Do(_ context.Context, _ []engine.Op, results []engine.Answer) {
	for i := range results {
		if results[i].Err == nil {
			results[i].Err = headgate.ErrStoreUnavailable
		}
	}
}

type step struct {
	after   time.Duration // time since the previous step
	request Request
	want    Answer
}

// OfResponse converts a response to an Answer. The kind of the request determines the fields that are set.
func OfResponse(kind engine.Kind, r *decide.Response) Answer {
	switch kind {
	case engine.OpReset, engine.OpSettle, engine.OpRelease:
		return Answer{Found: r.Found}
	case engine.OpRenew:
		return Answer{Allowed: r.Allowed}
	case engine.OpGive:
		return Answer{Remaining: r.Binds().Remaining}
	}
	a := Of(r)
	a.Handle, a.LeaseMillis, a.Limits = r.Reservation+r.ID, r.Lease.Milliseconds(), limitsOf(r)
	a.Paid = r.Paid
	return a
}

// Of converts a decision to an Answer.
func Of(r *decide.Response) Answer {
	s := r.Binds()
	a := Answer{
		Allowed: r.Allowed, Unlimited: s.Unlimited, Limit: s.Limit, Remaining: s.Remaining,
		ResetSeconds: format.Ceil(s.ResetAfter, time.Second), DelayMillis: format.Ceil(r.Delay, time.Millisecond),
	}
	switch {
	case s.RetryAfter == headgate.Never:
		a.Never = true
	case !r.Allowed:
		a.RetrySeconds = format.Ceil(s.RetryAfter, time.Second)
	}
	return a
}

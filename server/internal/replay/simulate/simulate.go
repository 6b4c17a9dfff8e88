package simulate

import (
	"context"
	"errors"
	"time"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// DefaultMaxKeys is the default number of keys that a simulation's store holds.
const DefaultMaxKeys = 4_000_000

// errFull is the error of a request that found no room in the simulation's store. A server would have had other keys.
var errFull = errors.New("no room for another key: see --max-keys")

// Answer is a server's answer to one request.
type Answer struct {
	// Route is the index of the route in the file, or -1.
	Route int
	// Key is the key that the request is charged to. If there are several charges, it is the binding limit's key. It is
	// "" if there is no route or no key.
	Key string
	// Allowed reports whether the request passes.
	Allowed bool
	// Policy is the policy that denied the request. It is "" if the request passed, or was denied because a part of
	// its key was empty.
	Policy string
	// Delay is how long a pacer would have delayed the request.
	Delay time.Duration
	// Err is set if there was no decision, for example because the store is full.
	Err error

	items []route.Item // the charges, or nil if there is no route or no key
}

// Simulation is a server that runs in the log's time. It is not safe for concurrent use.
type Simulation struct {
	config  *policy.Config
	store   *memstore.Store
	limiter *core.Limiter
	rules   decide.Rules
	now     int64

	seen      route.Request
	responses [1]decide.Response
	shadows   shadows
}

// shadows counts requests by policy: those that the policy's shadow decided, and those that the shadow would have
// denied.
type shadows struct {
	asked, denied map[string]int64
}

func (s *shadows) add(decided []decide.Shadow) {
	for i := range decided {
		shadow := &decided[i]
		s.asked[shadow.Owner.Name]++
		if shadow.Denied {
			s.denied[shadow.Owner.Name]++
		}
	}
}

// New returns a simulation of a server with a policies file. Its store holds at most maxKeys keys.
func New(c *policy.Config, maxKeys int) (*Simulation, error) {
	s := &Simulation{config: c, shadows: shadows{asked: map[string]int64{}, denied: map[string]int64{}}}
	clock := func() time.Time { return time.UnixMicro(s.now) }
	store, err := memstore.New(memstore.Config{MaxKeys: maxKeys, Clock: clock})
	if err != nil {
		return nil, err
	}
	s.store, s.limiter = store, core.New(core.Config{Store: store, Now: clock})
	s.rules = decide.Rules{Limiter: s.limiter}
	return s, nil
}

// Close frees the store's memory.
func (s *Simulation) Close() error {
	return errors.Join(s.limiter.Close(), s.store.Close())
}

// Decide decides a request at its time in the log. For an allowed request, it reports the status in the log as the
// outcome.
func (s *Simulation) Decide(ctx context.Context, q *accesslog.Request) (a Answer) {
	q.Route(&s.seen)
	m, ok := s.config.Routes.Find(&s.seen)
	if !ok {
		return Answer{Route: -1, Allowed: true}
	}
	request := decide.Routed(&m)
	request.Holds = true
	s.now = q.Time
	b := s.rules.Begin(s.config.Policies, 1, nil)
	defer b.End()
	b.Add(&request)
	b.Do(ctx)
	b.Answer(0, &s.responses[0])
	s.shadows.add(b.Shadows(s.responses[:]))
	r := &s.responses[0]
	if r.Permits != nil { // a log line does not contain when its request ended
		_ = r.Permits.Release(ctx) // cannot fail in memory
	}
	if r.Outcome != nil && q.Status != 0 {
		r.Outcome(wire.Outcome(q.Status, nil))
	}
	a = Answer{Route: request.Route.Index, Key: request.Key, Allowed: r.Allowed, Delay: r.Delay, Err: r.Err}
	if r.Full {
		a.Err = errFull
	}
	a.items = request.Route.Items
	if request.Items != nil {
		a.Key = r.Key
	}
	if !a.Allowed && a.Err == nil && request.Route.NoKey == nil {
		a.Policy = r.Policy
	}
	return a
}

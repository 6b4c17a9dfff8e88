package adaptive

import (
	"fmt"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config holds the settings of a limiter.
type Config struct {
	// Min and Max bound the limit: 1 ≤ Min ≤ Max ≤ [MaxLimit]. The bounds hold even if the limiter's estimate is
	// wrong. It never denies a call with fewer than Min others in flight, and never admits a call with Max others in
	// flight.
	Min, Max int
	// Start is the initial limit, used until the throughput is known: Min to Max. 0 means Max. A low initial limit
	// denies many calls to a server that has just started with cold caches.
	Start int
	// Latency is the accepted duration of a call, including its wait in the server: 1 ms to 1 min. Choose a duration
	// that clients still accept: well below their timeouts, and several times the latency of a call without load. A
	// third of the timeout is a good starting point.
	Latency time.Duration
	// DryRun makes the limiter decide and count calls without denying any.
	DryRun bool
	// Moved, if set, is called when the limit has changed and is not frozen, with the reason in one line: see
	// [Status].Why. It must not block.
	Moved func(why string)
	// Clock replaces the clock in tests. If it is nil, the real clock is used.
	Clock func() time.Time
}

// MaxLimit is the largest limit.
const MaxLimit = 1_000_000

func (c *Config) start() int {
	if c.Start == 0 {
		return c.Max
	}
	return c.Start
}

func (c *Config) check() error {
	bad := func(field string, value any, accepted string) error {
		return &engine.InputError{Field: field, Value: fmt.Sprint(value), Accepted: accepted}
	}
	switch {
	case c.Max < 1 || c.Max > MaxLimit:
		return bad("max", c.Max, fmt.Sprintf("1 to %d", MaxLimit))
	case c.Min < 1 || c.Min > c.Max:
		return bad("min", c.Min, fmt.Sprintf("1 to max, which is %d", c.Max))
	case c.Start != 0 && (c.Start < c.Min || c.Start > c.Max):
		return bad("start", c.Start, fmt.Sprintf("min to max, %d to %d", c.Min, c.Max))
	case c.Latency < time.Millisecond || c.Latency > time.Minute:
		return bad("latency", c.Latency, "1ms to 1m")
	default:
		return nil
	}
}

// Limiter bounds calls in flight. It is safe for concurrent use, and starts no goroutines. A limiter that New did not make
// admits no call.
type Limiter struct {
	clock func() time.Time
	began time.Time
	dry   bool
	moved func(why string)

	mu       sync.Mutex
	control  *Controller
	inFlight int64
	frozen   int64 // a fixed limit; 0 if the controller adjusts it
	denied   int64
}

// errNoLimiter is the error of a limiter that New did not make.
var errNoLimiter error = &engine.InputError{Field: "limiter", Value: "nil", Accepted: "the result of adaptive.New"}

func (l *Limiter) made() bool { return l != nil && l.control != nil }

// New returns a limiter. If a setting is invalid, the error is an [*engine.InputError] that names it.
func New(c Config) (*Limiter, error) {
	control, err := NewController(c)
	if err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Limiter{clock: c.Clock, began: c.Clock(), dry: c.DryRun, moved: c.Moved, control: control}, nil
}

// Configure changes all settings except Start, Moved and Clock. Calls in flight stay counted, and the learned limit is
// kept as far as the new Min and Max allow. If Configure returns an error, it has changed nothing.
func (l *Limiter) Configure(c Config) error {
	if !l.made() {
		return errNoLimiter
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Start = min(max(int(l.control.Limit()), c.Min), c.Max)
	control, err := NewController(c)
	if err != nil {
		return err
	}
	control.why = "new settings"
	l.control, l.dry = control, c.DryRun
	return nil
}

// now returns the time since the limiter was created, in µs.
func (l *Limiter) now() int64 { return l.clock().Sub(l.began).Microseconds() + 1 }

// TryAcquire returns a permit for a call. It returns false if it denies the call because too many calls are in flight.
// It never waits. Release the permit when the call ends. Without a permit, Release does nothing, so it can be deferred
// before the second result is checked.
func (l *Limiter) TryAcquire() (*Permit, bool) {
	if !l.made() {
		return nil, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	allowed := l.control.Allow(now, l.inFlight)
	if l.frozen > 0 {
		allowed = l.inFlight < l.frozen
	}
	if !allowed {
		if l.denied++; !l.dry {
			return nil, false
		}
	}
	l.inFlight++
	return &Permit{limiter: l, began: now}, true
}

// Freeze fixes the limit. Freeze(0) lets it move again. The limiter continues to measure while the limit is fixed.
func (l *Limiter) Freeze(limit int) error {
	if !l.made() {
		return errNoLimiter
	}
	if limit < 0 || limit > MaxLimit {
		return &engine.InputError{Field: "limit", Value: fmt.Sprint(limit), Accepted: fmt.Sprintf("0 to %d", MaxLimit)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = int64(limit)
	return nil
}

// Status is the state of a limiter.
type Status struct {
	// Limit is the current limit, and InFlight the number of calls with a permit.
	Limit, InFlight int
	// Frozen reports whether [Limiter.Freeze] has fixed the limit.
	Frozen bool
	// Denied is the number of denied calls. With DryRun, it is the number of calls that would have been denied.
	Denied int64
	// Suggest is the fixed limit that would have performed about as well so far. It is 0 if the limit was never
	// reached.
	Suggest int
	// Why is the reason for the last change of the limit, in one line.
	Why string
}

// Status returns the limiter's state.
func (l *Limiter) Status() Status {
	if !l.made() {
		return Status{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		Limit: int(l.control.Limit()), InFlight: int(l.inFlight), Frozen: l.frozen > 0, Denied: l.denied,
		Suggest: int(l.control.Suggest()), Why: l.control.Why(),
	}
	if s.Frozen {
		s.Limit, s.Why = int(l.frozen), "frozen"
	}
	return s
}

// Outcome describes how a call ended.
type Outcome uint8

// The outcomes.
const (
	// Done means that the call was answered.
	Done Outcome = iota
	// Failed means that the call timed out, or that the server refused it because of overload.
	Failed
	// Ignored means that the call provides no information about the server, like a health check.
	Ignored
	// Abandoned means that the client left before the answer. If the call took longer than Latency it counts as
	// Failed, because clients that give up on a slow server are a sign of overload. Otherwise it is ignored.
	Abandoned
)

// Permit allows one call to be in flight. The methods of a nil Permit, as after a denial, do nothing.
type Permit struct {
	limiter         *Limiter
	began, answered int64
	excluded        int64
}

// none reports whether there is no call, as after a denial.
func (p *Permit) none() bool { return p == nil || p.limiter == nil }

// Answered records that the server has answered while the call continues. The latency ends here, so that a client
// that reads the answer slowly does not look like a slow server.
func (p *Permit) Answered() {
	if p.none() {
		return
	}
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.answered = p.limiter.now()
}

// Exclude subtracts d from the call's latency. Use it for time that the server did not cause, such as the wait for the
// body of a client's request. A negative d has no effect.
func (p *Permit) Exclude(d time.Duration) {
	if p.none() {
		return
	}
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.excluded += max(0, d.Microseconds())
}

// Release ends the call. Only the first Release of a permit has an effect.
func (p *Permit) Release(o Outcome) {
	if p.none() {
		return
	}
	if why := p.release(o); why != "" && p.limiter.moved != nil {
		p.limiter.moved(why)
	}
}

// release ends the call. If this changes the limit, release returns the reason.
func (p *Permit) release(o Outcome) (why string) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.began == 0 {
		return ""
	}
	l.inFlight--
	now := l.now()
	end := now
	if p.answered > 0 {
		end = p.answered
	}
	before := l.control.Limit()
	if took := max(0, end-p.began-p.excluded); o == Done || o == Failed || o == Abandoned && took > l.control.latency {
		l.control.Done(now, took, o != Done)
	}
	p.began = 0
	if l.control.Limit() != before && l.frozen == 0 {
		why = l.control.Why()
	}
	return why
}

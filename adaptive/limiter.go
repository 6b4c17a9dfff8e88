package adaptive

import (
	"fmt"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// Config is the settings of a limiter.
type Config struct {
	// Min and Max bound the limit: 1 ≤ Min ≤ Max ≤ [MaxLimit]. They are the promise: however wrong the limiter is, it refuses no call beside
	// fewer than Min others, and admits none beside Max.
	Min, Max int
	// Start is the limit at the start, before it is known how much completes: Min to Max; 0 is Max. A low start refuses
	// calls of a server that has just started with cold caches.
	Start int
	// Latency is how long a call may take, with its wait in the server: 1 ms to 1 min. Choose a time that clients still accept, well below
	// their timeouts, and several times what a call takes alone: a third of the timeout is a good begin.
	Latency time.Duration
	// DryRun decides and counts, and refuses nothing.
	DryRun bool
	// Clock replaces the clock in tests; nil is the real one.
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

// Limiter bounds calls in flight. It is safe for use by many goroutines, and starts none.
type Limiter struct {
	clock func() time.Time
	began time.Time
	dry   bool

	mu       sync.Mutex
	control  *Controller
	inFlight int64
	frozen   int64 // the limit that stays; 0 if the controller moves it
	refused  int64
}

// New returns a limiter. The error is an [*engine.InputError] that names the setting.
func New(c Config) (*Limiter, error) {
	control, err := NewController(c)
	if err != nil {
		return nil, err
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Limiter{clock: c.Clock, began: c.Clock(), dry: c.DryRun, control: control}, nil
}

// Configure changes the settings, all but Start and Clock. Calls in flight stay counted, and the limit stays what it is,
// as far as the new Min and Max allow. After an error nothing has changed.
func (l *Limiter) Configure(c Config) error {
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

// now is the time since the limiter began, in µs.
func (l *Limiter) now() int64 { return l.clock().Sub(l.began).Microseconds() + 1 }

// TryAcquire returns a permit for a call, and false if the call is refused: too many are in flight. It never waits. The
// permit must be released when the call ends.
func (l *Limiter) TryAcquire() (*Permit, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	allowed := l.control.Allow(now, l.inFlight)
	if l.frozen > 0 {
		allowed = l.inFlight < l.frozen
	}
	if !allowed {
		if l.refused++; !l.dry {
			return nil, false
		}
	}
	l.inFlight++
	return &Permit{limiter: l, began: now}, true
}

// Freeze keeps the limit at a number, and 0 lets it move again. It goes on to measure meanwhile.
func (l *Limiter) Freeze(limit int) error {
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
	// Limit is the limit in force, and InFlight the number of calls that have a permit.
	Limit, InFlight int
	// Frozen reports whether the limit is one that [Limiter.Freeze] set.
	Frozen bool
	// Refused is the number of refused calls, or with DryRun of those that would have been.
	Refused int64
	// Suggest is the fixed limit that would have done about as well so far; 0 if the limit was never reached.
	Suggest int
	// Why says in one line why the limit moved last.
	Why string
}

// Status returns the limiter's state.
func (l *Limiter) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{
		Limit: int(l.control.Limit()), InFlight: int(l.inFlight), Frozen: l.frozen > 0, Refused: l.refused,
		Suggest: int(l.control.Suggest()), Why: l.control.Why(),
	}
	if s.Frozen {
		s.Limit, s.Why = int(l.frozen), "frozen"
	}
	return s
}

// Outcome says how a call ended.
type Outcome uint8

// The outcomes.
const (
	// Done is a call that was answered.
	Done Outcome = iota
	// Failed is a call that timed out, or that the server refused because it is overloaded.
	Failed
	// Ignored is a call that says nothing about the server, such as a health check.
	Ignored
	// Abandoned is a call whose client left before the answer. After more than Latency it counts as Failed, because clients
	// that give up on a slow server are a sign of overload; before, it is ignored.
	Abandoned
)

// Permit is the right of one call to be in flight.
type Permit struct {
	limiter         *Limiter
	began, answered int64
	excluded        int64
}

// Answered notes that the server has answered, while the call goes on: its latency ends here, so that a client that reads the
// answer slowly is no sign of a slow server.
func (p *Permit) Answered() {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.answered = p.limiter.now()
}

// Exclude takes a time out of the call's latency that the server did not cause, such as the wait for the body of a client's
// request.
func (p *Permit) Exclude(d time.Duration) {
	p.limiter.mu.Lock()
	defer p.limiter.mu.Unlock()
	p.excluded += max(0, d.Microseconds())
}

// Release ends the call. Only the first release of a permit counts.
func (p *Permit) Release(o Outcome) {
	l := p.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.began == 0 {
		return
	}
	l.inFlight--
	now := l.now()
	end := now
	if p.answered > 0 {
		end = p.answered
	}
	if took := max(0, end-p.began-p.excluded); o < Ignored || o == Abandoned && took > l.control.latency {
		l.control.Done(now, took, o != Done)
	}
	p.began = 0
}

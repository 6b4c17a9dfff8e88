package headgate

import (
	"fmt"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Never is the RetryAfter of a request that can never pass, because its cost exceeds the capacity. It is the longest
// Duration, so a program that sleeps for RetryAfter must check for it, or use [Policy.Wait].
const Never = engine.Never

// Decision is the answer to one request. The field comments use one example: a limit of 10 a second with burst 10 had
// all its units, 6 of them have just been charged, and a request for 1 unit arrives. A method that returns an error
// returns the zero Decision, which has no meaning.
type Decision struct {
	// Allowed reports whether the request passes: true here. A denial is a decision, not an error.
	Allowed bool
	// Full is set for a denial because the store in memory has no room for a new key of the policy. Nothing was charged.
	Full bool
	// Unlimited is set if no limit applies. In that case Limit and Remaining have no meaning.
	Unlimited bool
	// Granted is the number of units charged: 1 here. After AtMost it is the number that passed. It is 0 for a denial
	// and for a peek.
	Granted int64
	// Limit is the capacity of the binding limit: 10.
	Limit int64
	// Remaining is the number of units that would still pass after this decision, rounded down: 3.
	Remaining int64
	// RetryAfter is the time until the same request passes if no other request comes, rounded up to the microsecond:
	// 0 when allowed, 100 ms when one token is missing, [Never] for a request for 11 units. A retry after exactly
	// RetryAfter passes.
	RetryAfter time.Duration
	// ResetAfter is the time until all units are available again: 700 ms.
	ResetAfter time.Duration
	// Delay is the time that an admitted caller must wait before it continues. It is above 0 only for units that
	// [Policy.Reserve], [Limiter.ReserveAll] or Wait reserved ahead, and in a Peek of a [Pacer] or [FairPacer]. For its
	// meaning in a denial, see [Policy.Reserve].
	Delay time.Duration
	// Binding is the limit that Limit, Remaining, RetryAfter and ResetAfter describe: for a denial, the limit with the
	// longest wait (of the choices of [Policy.First], only the one with the shortest wait takes part); otherwise, the
	// limit with the fewest remaining units.
	Binding Binding
	// Limits contains the answer of each limit, in the order of the request. It is nil if the request has only one
	// limit.
	Limits []Standing
	// Paid is the name of the limit that a policy with choices ([Policy.First]) charged. It is "" for other policies
	// and for a denial.
	Paid string
	// At is the time of the decision on the store's clock.
	At time.Time
	// Promise states how the decision was made, and by how many units at most it can exceed the limit: 0 when exact.
	Promise engine.Promise
}

// Standing is the answer of one limit of several. The fields that it shares with [Decision] have the same meaning.
type Standing struct {
	// Policy and Name are the names of the limit's policy and of the limit, as in [Binding].
	Policy, Name string
	// Rate is the limit's rate, as in [Binding].
	Rate Rate
	// Unlimited is set if the limit allows every request, and for a penalty that does not deny this request.
	Unlimited bool
	// Unchosen is set for a choice of [Policy.First] that was not charged. Such a limit takes no part in the answer.
	Unchosen                      bool
	Limit, Remaining              int64
	RetryAfter, ResetAfter, Delay time.Duration
	// Earlier is as in [Binding].
	Earlier time.Duration
}

// Binding names a limit within a request.
type Binding struct {
	// Index is the position of the limit in the request, from 0.
	Index int
	// Policy is the name of the limit's policy.
	Policy string
	// Name is the limit's name. For an unnamed limit it is "default", or the limit's position in a policy with several
	// limits.
	Name string
	// Rate is the limit's rate as written, such as 5/1m. If the limit has several windows, it is the rate of the window
	// that decided. A concurrency limit has a count and no period. For an adapting rate it is the rate in force, in
	// whole units.
	Rate Rate
	// Version is the number of times that an adapting rate has changed since its state began. It is 0 for other limits.
	Version int64
	// Earlier is the difference between [Decision].ResetAfter and the time until the deciding window has all its units
	// available again. It is non-zero only for a [SlidingLog] with several windows, because ResetAfter refers to the
	// longest window.
	Earlier time.Duration
}

// DecisionOf returns the view of an engine's answer. limit(i) is the limit of the charge at index i. The names of
// policies and of the limit that paid are left to the caller. Of nil, it is the zero Decision.
func DecisionOf(a *engine.Answer, limit func(i int) engine.Limit) (d Decision) {
	if a != nil && limit != nil {
		d.read(a, limit)
	}
	return d
}

func decisionOn(op *engine.Op, a *engine.Answer) (d Decision) {
	d.read(a, func(i int) engine.Limit { return op.Charges[i].Limit })
	if a.Choice != 0 {
		d.Paid = op.Charges[a.Paid(op)].Limit.Name()
	}
	return d
}

// read fills in the decision. Every decision is made here, by copying, except those of one limit in memory.
func (d *Decision) read(a *engine.Answer, limit func(i int) engine.Limit) {
	s, of := a.Binds(), limit(a.Binding)
	d.Allowed, d.Full, d.Unlimited, d.Granted = a.Allowed, a.Full, of.Unlimited(), a.Granted
	d.Limit, d.Remaining = s.Limit, s.Remaining
	d.RetryAfter, d.ResetAfter, d.Delay = s.RetryAfter, s.ResetAfter, a.Delay
	d.Binding.Index, d.Binding.Name, d.Binding.Rate = a.Binding, of.Name(), Rate(s.Rate(of))
	d.Binding.Version, d.Binding.Earlier = s.Version, of.Earlier(s.Window)
	d.At, d.Promise = a.At(), a.Promise
	if a.Len() == 1 {
		return
	}
	d.Limits = make([]Standing, a.Len())
	for i := range d.Limits {
		s, of := a.Of(i), limit(i)
		d.Limits[i] = Standing{
			Name: of.Name(), Rate: Rate(s.Rate(of)), Unlimited: s.Unlimited, Unchosen: s.Unchosen, Limit: s.Limit, Remaining: s.Remaining,
			RetryAfter: s.RetryAfter, ResetAfter: s.ResetAfter, Delay: s.Delay, Earlier: of.Earlier(s.Window),
		}
	}
}

// String returns the decision in a line for logs: `allowed by "mails": 3 of 10 remaining`, or `denied by "mails": 5/1m:
// retry after 12.345s`. It has the delay and the mode of the promise if there is a delay or the mode is not exact.
func (d Decision) String() string {
	switch {
	case !d.Allowed && d.isEmpty():
		return "no decision"
	case !d.Allowed:
		return strings.TrimPrefix((&DeniedError{Decision: d}).Error(), "headgate: ")
	}
	text := fmt.Sprintf("allowed by %q: %d of %d remaining", d.Binding.fullName(), d.Remaining, d.Limit)
	switch name := d.Binding.fullName(); {
	case name == "" && d.Unlimited: // a request that matches no route of a policies file
		text = "allowed: no limit"
	case d.Unlimited:
		text = fmt.Sprintf("allowed by %q: no limit", name)
	}
	if d.Delay > 0 {
		text += ", after a delay of " + d.Delay.String()
	}
	if d.Promise.Mode != engine.Exact {
		text += ", " + d.Promise.Mode.String()
	}
	return text
}

// fullName returns the name of the limit with the name of its policy.
func (b *Binding) fullName() string {
	switch {
	case b.Policy == "":
		return b.Name
	case b.Name == engine.DefaultName:
		return b.Policy
	default:
		return b.Policy + "." + b.Name
	}
}

// Err returns nil for an allowed request and a [*DeniedError] for a denied one. For the zero Decision, of a call that
// returned an error, it returns an error that matches [ErrInvalid].
func (d Decision) Err() error {
	switch {
	case d.Allowed:
		return nil
	case d.isEmpty():
		return errNoDecision
	default:
		return &DeniedError{Decision: d}
	}
}

// isEmpty reports whether nothing was decided. The time alone does not tell: a test's clock can be the zero time.
func (d *Decision) isEmpty() bool { return d.At.IsZero() && d.Binding == Binding{} }

var errNoDecision error = &engine.InputError{
	Field: "decision", Value: "not made", Accepted: "the decision of a call that returned no error",
}

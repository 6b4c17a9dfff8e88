package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// Failure is a failure mode: a policy's answer when the decision is not known.
type Failure uint8

// The failure modes. The zero value is Deny. Each has a row in failures, which is all that distinguishes them.
const (
	// Deny answers with an error.
	Deny Failure = iota
	// Local answers from this process's share of the limits; if the store has no fallback layer, it answers like Deny.
	// The decisions carry the promise mode fallback.
	Local
	// Allow answers with an allowed decision, which carries the promise mode fallback.
	Allow
	failureCount
)

// mode is a row of failures.
type mode struct {
	// name is used in files, and answer describes the mode's answer in help messages.
	name, answer string
	// strictness orders the modes: the strictest mode of a request's policies applies to the request.
	strictness int
	// local permits an answer from the process's share while the store is unavailable, and lenient permits the store's
	// answer even after the store has lost data.
	local, lenient bool
	// fails is true if requests get errors while the store is unavailable, so a server can depend on its store.
	fails bool
	// allows makes it an allowed decision that nothing else has decided; otherwise the request gets an error.
	allows bool
}

var failures = [failureCount]mode{
	Deny:  {name: "deny", answer: "an error", strictness: 3, fails: true},
	Local: {name: "local", answer: "the share of this process", strictness: 2, local: true},
	Allow: {name: "allow", answer: "an allowed decision", strictness: 1, lenient: true, allows: true},
}

// If a mode has no row, every program that imports the package panics.
func init() {
	if err := checkModes(failures[:]); err != nil {
		panic(err)
	}
}

// checkModes returns an error for a mode without a row, and for two modes that are equally strict.
func checkModes(modes []mode) error {
	for f, m := range modes {
		switch {
		case m.name == "" || m.answer == "" || m.strictness < 1:
			return fmt.Errorf("policy: failure mode %d has no row, or one without name, answer or strictness", f)
		case slices.ContainsFunc(modes[:f], func(o mode) bool { return o.name == m.name || o.strictness == m.strictness }):
			return fmt.Errorf("policy: failure mode %s has the name or the strictness of another one", m.name)
		}
	}
	return nil
}

var failureNames, failureModes = func() (names, modes []string) {
	for _, f := range failures {
		names, modes = append(names, f.name), append(modes, f.name+" ("+f.answer+")")
	}
	return names, modes
}()

var failureAccepted = strings.Join(failureNames, ", ")

// FailureModes returns the failure modes and their answers as text, for help messages.
func FailureModes() string { return strings.Join(failureModes, ", ") }

// FailureNames returns the names of the failure modes.
func FailureNames() []string { return slices.Clone(failureNames) }

// ParseFailure returns the failure mode with the given name.
func ParseFailure(name string) (Failure, error) {
	if i := slices.Index(failureNames, name); i >= 0 {
		return Failure(i), nil
	}
	return Deny, invalidWord("failure", name, failureAccepted)
}

// row returns the mode's row. A number that is no mode has the row of Deny.
func (f Failure) row() *mode {
	if f >= failureCount {
		f = Deny
	}
	return &failures[f]
}

// String returns the name that ParseFailure reads.
func (f Failure) String() string { return f.row().name }

// And returns the mode of a request under both modes: the stricter one.
func (f Failure) And(other Failure) Failure {
	if other.row().strictness > f.row().strictness {
		return other
	}
	return f
}

// Weakest returns the least strict mode, which changes no other mode: that of requests that nothing can deny.
func Weakest() Failure { return weakest }

var weakest = func() (least Failure) {
	for f := range failureCount {
		if failures[f].strictness < failures[least].strictness {
			least = f
		}
	}
	return least
}()

// Fails reports whether requests get errors while the store is unavailable.
func (f Failure) Fails() bool { return f.row().fails }

// Lenient reports whether the store's answers count even after the store has lost data. In the other modes, the
// process's share also decides until the limits have recovered.
func (f Failure) Lenient() bool { return f.row().lenient }

// Hint sets the hints that tell the layers how the mode lets them answer.
func (f Failure) Hint(op *engine.Op) {
	op.Hints.NoShare, op.Hints.Lenient = !f.row().local, f.row().lenient
}

// Answer returns the mode's answer to a request whose decision is not known because of err. If ok is false, the answer
// is err.
func (f Failure) Answer(kind engine.Kind, cost int64, err error) (a engine.Answer, ok bool) {
	if !f.row().allows || !asks(kind) || !NotKnown(err) {
		return a, false
	}
	a.Allowed, a.Binds().Unlimited = true, true
	a.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: engine.Unbounded}
	if kind != engine.OpPeek {
		a.Granted = cost
	}
	return a, true
}

// NotKnown reports whether an error leaves the decision unknown. A caller's mistake, a closed limiter and a caller who
// left do not: clients could otherwise pass by leaving before the decision.
func NotKnown(err error) bool {
	return err != nil && !errors.Is(err, engine.ErrInvalid) && !errors.Is(err, engine.ErrClosed) && !errors.Is(err, context.Canceled)
}

// asks reports whether a failure mode can answer a request of this kind. All other kinds, also acquires and
// reserves, return an error: there is no permit or reservation to hand out.
func asks(kind engine.Kind) bool {
	return kind == engine.OpAllow || kind == engine.OpPeek || kind == engine.OpCount
}

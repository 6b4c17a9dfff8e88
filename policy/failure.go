package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// Failure is a failure mode: a policy's answer when the decision is not known.
type Failure uint8

// Deny answers with an error. Local answers from this process's share of the limits; if the store has no fallback
// layer, it answers like Deny. Allow answers with an allowed decision. Decisions by Local and Allow carry the promise
// mode fallback.
const (
	Deny Failure = iota
	Local
	Allow
)

// failures lists the names and answers of the failure modes.
var failures = [...]struct{ name, answer string }{
	Deny: {"deny", "an error"}, Local: {"local", "the share of this process"}, Allow: {"allow", "an allowed decision"},
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

// String returns the name that ParseFailure reads.
func (f Failure) String() string {
	return failureNames[min(f, Allow)]
}

// Answer returns the mode's answer to a request whose decision is not known because of err. If ok is false, the answer
// is err.
func (f Failure) Answer(kind engine.Kind, cost int64, err error) (a engine.Answer, ok bool) {
	if f != Allow || !asks(kind) || !NotKnown(err) {
		return a, false
	}
	a.Allowed, a.Binds().Unlimited = true, true
	a.Promise = engine.Promise{Mode: engine.Fallback, OvershootMax: engine.Unbounded}
	if kind != engine.OpPeek {
		a.Granted = cost
	}
	return a, true
}

// NotKnown reports whether an error leaves the decision unknown. A caller's mistake and a closed limiter do not.
func NotKnown(err error) bool {
	return err != nil && !errors.Is(err, headgate.ErrInvalid) && !errors.Is(err, headgate.ErrClosed)
}

// asks reports whether failure mode allow can answer a request of this kind. All other kinds, also acquires and
// reserves, return an error: there is no permit or reservation to hand out.
func asks(kind engine.Kind) bool {
	return kind == engine.OpAllow || kind == engine.OpPeek || kind == engine.OpCount
}

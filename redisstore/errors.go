package redisstore

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Class is what went wrong.
type Class uint8

// The classes. Nothing was charged, unless a class says otherwise.
const (
	// Other is an error that the server answered and that has no class.
	Other Class = iota
	// ReadOnly: a replica was asked. The client looks for the new primary.
	ReadOnly
	// Loading: the server is reading its data.
	Loading
	// Busy: a script is running for too long.
	Busy
	// OutOfMemory: the server's maxmemory is reached, and nothing may be
	// evicted.
	OutOfMemory
	// ClusterDown: the slot is served by no node.
	ClusterDown
	// MasterDown: a replica has lost its primary.
	MasterDown
	// Moved: the slot went to another node, again and again.
	Moved
	// Ask: the slot is on its way to another node.
	Ask
	// TryAgain: the keys of one call are on both sides of a slot's move.
	TryAgain
	// NoScript: the server did not know a script, and was sent it.
	NoScript
	// NoAuth: a password is needed, or is wrong.
	NoAuth
	// NoPermission: the user may not do this. See [Store.Permissions].
	NoPermission
	// Misconfigured: the server refuses writes because it cannot save, or has
	// too few replicas.
	Misconfigured
	// WrongType: something of another type stands at our key.
	WrongType
	// Garbage: something that no version of Headgate wrote stands at our key.
	Garbage
	// Newer: a newer version of Headgate wrote what stands at our key, or writes
	// what this one cannot read.
	Newer
	// Older: a version of Headgate that cannot be counted on with keeps its states
	// there.
	Older
	// Unsent: the call did not leave: no connection, or no room in a queue.
	Unsent
	// OutcomeUnknown: the call may have been decided and charged, and the
	// answer did not come.
	OutcomeUnknown
	classes
)

var classNames = [classes]string{
	"other", "readonly", "loading", "busy", "out_of_memory", "cluster_down", "master_down", "moved", "ask", "try_again",
	"no_script", "no_auth", "no_permission", "misconfigured", "wrong_type", "garbage", "newer", "older", "unsent", "outcome_unknown",
}

// String returns the class as it is counted: "out_of_memory".
func (c Class) String() string {
	if c < classes {
		return classNames[c]
	}
	return "other"
}

// Error is a decision that is not known, and why. It matches
// [engine.ErrStoreUnavailable], what caused it, such as
// [context.DeadlineExceeded], and [engine.ErrOutcomeUnknown] where the
// operation may have been charged.
type Error struct {
	Class Class
	// Text is what the server or the connection said.
	Text  string
	cause error
}

// Error names the class and what was said.
func (e *Error) Error() string { return "redisstore: " + e.Class.String() + ": " + e.Text }

// Public names the class alone, for those who are not told what servers say.
func (e *Error) Public() string { return "the store could not decide: " + e.Class.String() }

// Unwrap returns the context's error, if that ended the call.
func (e *Error) Unwrap() error { return e.cause }

// Is makes every Error match engine.ErrStoreUnavailable.
func (e *Error) Is(target error) bool {
	return target == engine.ErrStoreUnavailable || e.Class == OutcomeUnknown && target == engine.ErrOutcomeUnknown
}

// prefixes tell classes by how a server's error begins.
var prefixes = []struct {
	begins string
	class  Class
}{
	{"READONLY", ReadOnly},
	{"LOADING", Loading},
	{"BUSY ", Busy},
	{"OOM", OutOfMemory},
	{"CLUSTERDOWN", ClusterDown},
	{"MASTERDOWN", MasterDown},
	{"MOVED", Moved},
	{"ASK", Ask},
	{"TRYAGAIN", TryAgain},
	{"NOSCRIPT", NoScript},
	{"NOAUTH", NoAuth},
	{"WRONGPASS", NoAuth},
	{"ERR invalid password", NoAuth},
	{"NOPERM", NoPermission},
	{"MISCONF", Misconfigured},
	{"NOREPLICAS", Misconfigured},
	{"WRONGTYPE", WrongType},
	{"GARBAGE", Garbage},
	{"NEWER", Newer},
}

// classOf returns the class of what a server or a script said. Servers put
// "ERR Error running script" or "-" before it, depending on their version.
func classOf(text string) Class {
	text = strings.TrimPrefix(text, "-")
	for _, p := range prefixes {
		if strings.HasPrefix(text, p.begins) {
			return p.class
		}
	}
	for _, p := range prefixes {
		if strings.Contains(text, p.begins) && strings.Contains(text, "script") {
			return p.class
		}
	}
	// What Redis 7 tells a script whose user may not do what it does.
	if strings.Contains(text, "can't run this command") || strings.Contains(text, "can't access at least one of the keys") {
		return NoPermission
	}
	return Other
}

func (s *Store) fail(class Class, text string, cause error) error {
	s.stats.count(class)
	return &Error{Class: class, Text: text, cause: cause}
}

// refusal is the error of one operation that its script reports.
func (s *Store) refusal(text string, halfway bool) error {
	class := classOf(text)
	if halfway {
		class = OutcomeUnknown
	}
	return s.fail(class, text, nil)
}

// wrap makes an Error of what a call as a whole was answered.
func (s *Store) wrap(ctx context.Context, err error) error {
	var server *ServerError
	switch {
	case errors.As(err, &server):
		return s.fail(classOf(server.Text), server.Text, nil)
	case errors.Is(err, ErrNotSent):
		return s.fail(Unsent, err.Error(), cause(ctx, err))
	default:
		return s.fail(OutcomeUnknown, err.Error(), cause(ctx, err))
	}
}

// cause is the context's error, or the client's own if that is one. A client's
// own timer for the same deadline can be a little ahead of the context's.
func cause(ctx context.Context, err error) error {
	if c := ctx.Err(); c != nil {
		return c
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	for _, known := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, known) {
			return known
		}
	}
	return nil
}

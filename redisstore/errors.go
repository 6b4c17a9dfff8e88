package redisstore

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Class is a class of errors.
type Class uint8

// The classes. Unless a class says otherwise, nothing was charged.
const (
	// Other is any other error of the server, or of a proxy before it.
	Other Class = iota
	// ReadOnly: the server is a replica, so the store dials again, in case the address leads to the new primary.
	ReadOnly
	// NoReplicas: the server is a primary with fewer replicas than its min-replicas-to-write.
	NoReplicas
	// Loading: the server is loading its data.
	Loading
	// Busy: a script has been running for too long.
	Busy
	// OutOfMemory: the server has reached its maxmemory and may not evict any key.
	OutOfMemory
	// ClusterDown: no node serves the slot.
	ClusterDown
	// MasterDown: a replica has lost its primary. The store dials again, as for ReadOnly.
	MasterDown
	// Moved: the slot moved to another node, more often than the client follows redirections.
	Moved
	// Ask: the slot is moving to another node.
	Ask
	// TryAgain: the slot is moving, and the keys of the call are on different nodes.
	TryAgain
	// NoScript: the server did not know a script's hash, so the store sends the script's text.
	NoScript
	// NoAuth: the password is missing or wrong.
	NoAuth
	// NoPermission: the user lacks a permission. See [Store.Permissions].
	NoPermission
	// NoDisk: the server refuses writes because it cannot save its data.
	NoDisk
	// Misconfigured: the server's settings or data do not fit the settings of this store.
	Misconfigured
	// WrongType: the key holds a value of another type.
	WrongType
	// Garbage: the key holds a value that no version of Headgate writes.
	Garbage
	// Newer: the key holds a value of a newer version of Headgate, or the data contains states of a newer version that
	// this version cannot read.
	Newer
	// TooManyOpen: a million reservations are open.
	TooManyOpen
	// Unsent: the call was not sent, because there was no connection, the server accepts no more of them, or the queue was full.
	Unsent
	// OutcomeUnknown: the call was sent, but its reply was lost. It may have charged.
	OutcomeUnknown
	classCount
)

var classNames = [classCount]string{
	"other", "readonly", "no_replicas", "loading", "busy", "out_of_memory", "cluster_down", "master_down", "moved", "ask", "try_again",
	"no_script", "no_auth", "no_permission", "no_disk", "misconfigured", "wrong_type", "garbage", "newer", "too_many_open", "unsent", "outcome_unknown",
}

// String returns the class's name as used in [Stats] and in error texts, such as "out_of_memory".
func (c Class) String() string {
	if c < classCount {
		return classNames[c]
	}
	return "other"
}

// Error is the reason why there is no decision. With [errors.Is], it matches [engine.ErrStoreUnavailable] and its
// cause, such as [context.DeadlineExceeded]. If the operation may have been charged, it also matches
// [engine.ErrOutcomeUnknown].
type Error struct {
	Class Class
	// Text is the message of the server or the connection.
	Text  string
	cause error
	// outage is set for a refusal by a server that has worked for this store before: see Away.
	outage bool
}

// Error returns the class and the text.
func (e *Error) Error() string { return "redisstore: " + e.Class.String() + ": " + e.Text }

// Public returns the class without the text, as a message for clients that must not see the server's messages.
func (e *Error) Public() string {
	return "the store could not decide: " + e.Class.String()
}

// Unwrap returns the context's error, if it ended the call.
func (e *Error) Unwrap() error { return e.cause }

// Name returns the name of the error's class.
func (e *Error) Name() string { return e.Class.String() }

// Away reports whether the server is unavailable. A server that answers but refuses the call (see [Class.Refusal]) is
// unavailable if it has worked for this store before. If it has not, the refusal is a mistake in the settings, and Away
// returns false, as it does for a key that cannot be read.
func (e *Error) Away() bool {
	switch e.Class {
	case Busy, ClusterDown, MasterDown, Moved, Ask, TryAgain, Unsent, OutcomeUnknown:
		return true
	default:
		return e.outage
	}
}

// Refusal reports whether errors of the class are answers of a server that cannot do, for now, what it is asked: it is
// full, read-only, without its disk or its replicas, still loading, does not accept the store's user, or gives a reason
// that is not known here, like a proxy without a server.
func (c Class) Refusal() bool {
	switch c {
	case ReadOnly, NoReplicas, Loading, OutOfMemory, NoDisk, NoAuth, NoPermission, Other:
		return true
	default:
		return false
	}
}

// Temporary reports whether errors of the class can end without a change of the store's settings, so that a program may
// start and wait for that.
func (c Class) Temporary() bool {
	switch c {
	case Other, NoScript, NoAuth, NoPermission, Misconfigured, WrongType, Garbage, Newer, TooManyOpen:
		return false
	default:
		return true
	}
}

// Class returns the class of the error.
func (e *ServerError) Class() Class { return classOf(e.Text) }

// Is reports whether the error matches [engine.ErrStoreUnavailable] or [engine.ErrOutcomeUnknown].
func (e *Error) Is(target error) bool {
	switch target {
	case engine.ErrStoreUnavailable:
		return true
	case engine.ErrOutcomeUnknown:
		return e.Class == OutcomeUnknown
	default:
		return false
	}
}

// prefixes maps the first words of a server's error texts to classes.
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
	{"invalid password", NoAuth},
	{"max number of clients", Unsent}, // the answer to a new connection
	{"NOPERM", NoPermission},
	{"MISCONF", NoDisk},
	{"NOREPLICAS", NoReplicas},
	{"WRONGTYPE", WrongType},
	{"GARBAGE", Garbage},
	{"FULL", TooManyOpen}, // from lua/reserve.lua
	{"NEWER", Newer},
}

// classOf returns the class for an error text from a server or a script. Depending on their version, servers put "ERR
// Error running script" or "-" before an error within a script. rueidis leaves out "ERR ".
func classOf(text string) Class {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "ERR ")
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
	// Redis 7 returns these texts if a script runs a command or uses a key that its user may not use.
	if strings.Contains(text, "can't run this command") || strings.Contains(text, "can't access at least one of the keys") {
		return NoPermission
	}
	return Other
}

// fail returns an Error with these fields, and counts it in the store's statistics. of is the script that failed; it is
// nil for other commands.
func (s *Store) fail(of *script, class Class, text string, cause error) error {
	s.errorCounts.add(class)
	e := &Error{Class: class, Text: text, cause: cause}
	if class.Refusal() && !ofScript(class, text) {
		e.outage = s.working.had(of, class)
		s.working.refused(e)
	}
	if class == ReadOnly || class == MasterDown || class == NoAuth || class == Other && e.outage {
		s.renewConnections()
	}
	return e
}

// ofScript reports whether an error that has no class comes from within a script, so that it may concern one key only.
func ofScript(class Class, text string) bool {
	return class == Other && strings.Contains(text, "user_script")
}

// scriptError returns the error for one operation from a script's answer. partly means that the script had written
// something before the error.
func (s *Store) scriptError(of *script, text string, partly bool) error {
	class := classOf(text)
	if partly {
		class = OutcomeUnknown
	}
	return s.fail(of, class, text, nil)
}

// wrap returns an Error for the error of a whole call of a script, or of another command if the script is nil.
func (s *Store) wrap(ctx context.Context, of *script, err error) error {
	var server *ServerError
	switch {
	case errors.As(err, &server) && classOf(server.Text) == NoScript && ctx.Err() != nil:
		return s.fail(of, Unsent, "no time was left to send the text of the script", ctx.Err())
	case errors.As(err, &server):
		return s.fail(of, classOf(server.Text), server.Text, nil)
	case errors.Is(err, ErrNotSent):
		return s.fail(of, Unsent, strings.TrimPrefix(err.Error(), ErrNotSent.Error()+": "), cause(ctx, err)) // the class already says "not sent"
	default:
		return s.fail(of, OutcomeUnknown, err.Error(), cause(ctx, err))
	}
}

// cause returns the context's error if it ended a call. Otherwise it returns nil. The client has its own timer for
// the context's deadline, which can fire a little before the context's timer. Several callers can share a dial, and
// one caller's deadline ends the dial for all of them. A network timeout counts as a deadline exceeded, as in package
// net.
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
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return context.DeadlineExceeded
	}
	return nil
}

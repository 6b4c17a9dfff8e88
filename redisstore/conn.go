package redisstore

import (
	"context"
	"errors"
)

// Conn is the interface that a store needs from a Redis client. The adapter modules implement it with rueidis and
// with go-redis; other clients must implement these methods.
//
// A Conn must not resend a command once its bytes may have reached a server, because a script that runs twice charges
// twice. It may resend a command after a reply that shows that the command did not run: MOVED, ASK, TRYAGAIN,
// CLUSTERDOWN, LOADING.
type Conn interface {
	// Do sends the commands and sets replies[i] to the reply of commands[i]. All commands for one node are sent in
	// one write, in order. Do returns when ctx ends, even if the server hangs ([NewGuard] helps). Commands without a
	// reply at that time get an error.
	Do(ctx context.Context, commands []Command, replies []Reply)
	// Cluster reports whether the server is a Cluster, on which all keys of a
	// script must be in one slot.
	Cluster() bool
	// Renew makes further commands use new connections, which are dialed at the server's address again, with the current
	// password. The store calls it, at most once a second, when the server answers as a replica or refuses the password.
	// Renew may return before all connections are new,
	// and returns when ctx ends.
	Renew(ctx context.Context)
	// Close closes the connections. It is idempotent.
	Close() error
}

// Command is one Redis command.
type Command struct {
	// Key is one of the command's keys. On a Cluster, the command goes to the node that serves the key's slot. If Key
	// is empty, the command goes to any node.
	Key string
	// Args are the command's name and arguments.
	Args []string
}

// Reply is the reply to a Command. A string sets Text, an integer sets Int, and an array or a map sets List. A null
// sets none of them.
type Reply struct {
	Text string
	Int  int64
	List []Reply
	// Err is a [*ServerError] if the server replied with an error. Any other error comes from the connection or the
	// context. If the error wraps [ErrNotSent], no byte of the command was sent, so the command did not run.
	Err error
}

// ErrNotSent is wrapped by the errors of commands that were certainly not sent, because no connection could be made or
// the queue was full.
var ErrNotSent = errors.New("not sent")

// ServerError is an error reply of the server.
type ServerError struct {
	// Text is the whole line, without the leading minus: "READONLY You can't
	// write against a read only replica."
	Text string
}

// Error returns the text.
func (e *ServerError) Error() string { return e.Text }

package redisstore

import (
	"context"
	"errors"
)

// Conn is what a store needs of a Redis client. The adapter modules have one
// for rueidis and one for go-redis; another client needs these four methods.
//
// A Conn must never send a command a second time once its bytes may have
// reached a server: a script that ran twice would charge twice. It may do so
// after an answer that says the command was not run: MOVED, ASK, TRYAGAIN,
// CLUSTERDOWN, LOADING.
type Conn interface {
	// Do sends the commands and puts the answers into replies, which is as
	// long. What goes to one node leaves in one write, in order. It keeps
	// ctx's deadline, whatever the server does: what is not answered by then
	// gets an error.
	Do(ctx context.Context, commands []Command, replies []Reply)
	// Subscribe hands every message of the channel to heard, one after
	// another, until ctx ends or the connection is lost, and returns why. It
	// calls ready once the server has confirmed.
	Subscribe(ctx context.Context, channel string, ready func(), heard func(message string)) error
	// Cluster reports whether keys are spread over slots, so that a script's
	// keys must share one.
	Cluster() bool
	// Close ends the connections. It may be called twice.
	Close() error
}

// Command is one Redis command.
type Command struct {
	// Key is one of the command's keys: its slot says which node it is for.
	// Empty is any node.
	Key string
	// Args are the command's name and arguments.
	Args []string
}

// Reply is the answer to a Command: Text of a string, Int of an integer, List of
// an array, nothing of a null.
type Reply struct {
	Text string
	Int  int64
	List []Reply
	// Err is a [*ServerError] where the server answered an error; anything
	// else is a connection that failed, or the context's end. One that wraps
	// [ErrNotSent] says that no byte has left: the command did not run.
	Err error
}

// ErrNotSent is wrapped by a Conn where a command was certainly not sent: no
// connection could be made, or the queue was full.
var ErrNotSent = errors.New("not sent")

// ServerError is an error that the server answered.
type ServerError struct {
	// Text is the whole line, without the leading minus: "READONLY You can't
	// write against a read only replica."
	Text string
}

// Error returns the server's words.
func (e *ServerError) Error() string { return e.Text }

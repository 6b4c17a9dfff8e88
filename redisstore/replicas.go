package redisstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/engine"
)

// WaitConn is a [Conn] that can wait for replicas, as operations with [engine.Op].Replicas require. The adapter
// modules implement it.
//
// WAIT counts the replicas that have received the writes of its own connection, and blocks that connection in the
// meantime. For this reason, the scripts and their WAIT share a connection. Nothing else uses this connection until
// the scripts and the WAIT are answered, so other calls do not wait for the WAIT.
type WaitConn interface {
	Conn
	// DoAndWait sends the commands like Do. The commands for one node use one connection and are followed by the
	// command WAIT with replicas and within. acks[i] is the reply to the WAIT after commands[i]: Int is the number of
	// replicas that have received the command's writes.
	DoAndWait(ctx context.Context, commands []Command, replies []Reply, replicas int, within time.Duration) (acks []Reply)
}

// refuseWaits sets the error of operations that wait for replicas, if the connection cannot wait for replicas.
func (p *pipeline) refuseWaits() {
	if _, ok := p.store.conn.(WaitConn); ok {
		return
	}
	for i := range p.ops {
		if op := &p.ops[i]; op.Waits() && p.results[i].Err == nil {
			p.results[i].Err = &engine.InputError{Field: "replicas", Value: op.Replicas.String(), Accepted: "none: the connection of this store is no redisstore.WaitConn"}
		}
	}
}

// A fifth of the caller's deadline, but at least two milliseconds, is reserved for the reply to WAIT.
const (
	answerPart  = 5
	leastAnswer = 2 * time.Millisecond
)

// wakePause is the pause between two commands of [RunWait].
const wakePause = 2 * time.Millisecond

// RunWait is for implementations of [WaitConn]. It runs a call that ends with a WAIT. An otherwise idle server checks
// for ended waits only ten times a second, and after each command. Therefore, once the wait should have ended, RunWait
// calls wake repeatedly until the call has returned. wake must send the server some command.
func RunWait(ctx context.Context, within time.Duration, call func(), wake func(ctx context.Context)) {
	awake, stop := context.WithCancel(ctx)
	var waking sync.WaitGroup
	timer := time.AfterFunc(within+time.Millisecond, func() {
		for awake.Err() == nil {
			wake(awake)
			sleep(awake, wakePause)
		}
		waking.Done()
	})
	waking.Add(1)
	call()
	stop()
	if timer.Stop() {
		return
	}
	waking.Wait()
}

// errMoving is the reply to a WAIT that could not follow its command to another node.
var errMoving = errors.New("the slot was moving to another node")

// Redirect is for implementations of [WaitConn] on a Cluster. It uses Do to resend the commands that a node did not run
// because their slot is on another node. Nothing is known about the replicas of the resent commands.
func Redirect(ctx context.Context, c Conn, commands []Command, replies, acks []Reply) {
	for i := range commands {
		server, ok := errors.AsType[*ServerError](replies[i].Err)
		if ok && (strings.HasPrefix(server.Text, "MOVED") || strings.HasPrefix(server.Text, "ASK")) {
			c.Do(ctx, commands[i:i+1], replies[i:i+1])
			acks[i] = Reply{Err: errMoving}
		}
	}
}

// waitTime bounds a wait by the caller's deadline. It is at least a millisecond, because 0 makes Redis wait forever.
func waitTime(ctx context.Context, within time.Duration) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		within = min(within, left-max(left/answerPart, leastAnswer))
	}
	return max(within.Truncate(time.Millisecond), time.Millisecond)
}

// confirm sets the error of operations that a command charged, if too few replicas have received the charge or if the
// WAIT failed. The argument again lists the operations to be sent again.
func (p *pipeline) confirm(ops, again []int, ack *Reply) {
	for _, i := range ops {
		op, result := &p.ops[i], &p.results[i]
		if result.Err != nil || !op.Waits() || slices.Contains(again, i) || !result.Outcome.Allowed {
			continue
		}
		if want := op.Replicas; ack.Err != nil || ack.Int < int64(want.Count) {
			result.Err = p.store.notReplicated(want, ack)
		}
	}
}

func (s *Store) notReplicated(want engine.Replicas, ack *Reply) error {
	text := fmt.Sprintf("charged, and %d of %d replicas had it after %s", ack.Int, want.Count, want.Within())
	if ack.Err != nil {
		text = fmt.Sprintf("charged, and it is not known how many of %d replicas had it: %v", want.Count, ack.Err)
	}
	return s.fail(NotReplicated, text, nil)
}

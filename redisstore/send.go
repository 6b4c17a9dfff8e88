package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// maxTries is the maximum number of times that a call is sent. A call is sent again if it did not run, because the
// server did not know the script or a slot was moving to another node. Its operations are sent again if a calendar
// window was computed for another time. In none of these cases has anything been charged.
const maxTries = 4

// movePause is the pause after the first try that fails because of a moving slot. It doubles with each further try.
const movePause = 5 * time.Millisecond

// send sends the calls until each operation has its result.
func (p *pipeline) send(ctx context.Context) {
	for len(p.calls) > 0 {
		p.encodeCommands()
		p.store.roundTrips.Add(1)
		p.store.conn.Do(ctx, p.commands, p.replies)
		if try := p.decodeReplies(ctx); try > 0 {
			sleep(ctx, movePause<<(try-1))
		}
	}
	p.clear()
}

// encodeCommands makes the commands for the calls that can be sent now. A call that shares a key with an earlier call
// waits for the earlier call's reply. Without this wait, the operations on the key would run in the wrong order if
// the earlier call had to be sent again.
func (p *pipeline) encodeCommands() {
	p.clearRoundTrip()
	now := p.store.now()
	for i := range p.calls {
		command := p.encodeCall(&p.calls[i], now)
		if len(p.calls) > 1 && p.sharesKey(&command) {
			continue
		}
		p.commands, p.replies, p.sent = append(p.commands, command), append(p.replies, Reply{}), append(p.sent, i)
	}
}

// sharesKey reports whether an earlier call of this round trip writes one of the command's keys. It also records the
// command's keys for later calls.
func (p *pipeline) sharesKey(command *Command) (shared bool) {
	if p.unacked == nil {
		p.unacked = map[string]struct{}{}
	}
	keys := command.keys()
	for _, key := range keys {
		if _, found := p.unacked[key]; found {
			shared = true
		}
	}
	for _, key := range keys {
		p.unacked[key] = struct{}{}
	}
	return shared
}

func (c *Command) keys() []string {
	n, err := strconv.Atoi(c.Args[2])
	if err != nil || 3+n > len(c.Args) {
		return nil // encodeCall never makes such a command
	}
	return c.Args[3 : 3+n]
}

// decodeReplies sets the results. It keeps in p.calls, in order, the calls that were not sent or must be sent again.
// It returns the largest number of tries of a call whose slot is moving to another node, or 0 if no slot is moving.
func (p *pipeline) decodeReplies(ctx context.Context) (moving int) {
	kept, reply := 0, 0
	for i := range p.calls {
		c := &p.calls[i]
		if reply < len(p.sent) && p.sent[reply] == i {
			c.tries++
			again := p.decodeReply(ctx, c, &p.replies[reply], c.tries >= maxTries)
			reply++
			if !again {
				c.clear()
				continue
			}
			if c.moving {
				moving = max(moving, c.tries)
			}
		}
		p.calls[kept], p.calls[i] = p.calls[i], p.calls[kept] // swap them, so that both keep their buffers
		kept++
	}
	p.calls = p.calls[:kept]
	return moving
}

// canResend reports whether the error means that the call did not run and can be sent again. It records in the call how
// to resend it.
func (s *Store) canResend(c *scriptCall, err error) bool {
	server, ok := errors.AsType[*ServerError](err)
	if !ok {
		return false
	}
	class := classOf(server.Text)
	switch class {
	case NoScript:
		c.sendText, c.moving = true, false
	case TryAgain, ClusterDown:
		c.moving = true
	default:
		return false
	}
	s.errorCounts.add(class)
	return true
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// now estimates the server's time, in µs, from the last reply.
func (s *Store) now() int64 {
	if s.clock != nil {
		return s.clock().UnixMicro()
	}
	return time.Now().UnixMicro() + s.clockOffset.Load()
}

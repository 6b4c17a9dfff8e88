package redisstore

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// An acquire by a holder that has units already changes them to others, or renews
// them. If a later leg refuses, the holder keeps what it had: each leg is asked
// for that beforehand, and it is put back, units and expiry.
//
// Units that a leg gives up can be taken by another holder before the refusal, and
// could then not be put back. So legs that give units up come last: a leg that
// only gives up refuses nothing.

// held is what a holder has of one limit, as the server wrote it: when its lease
// ends, and its units with the length of the lease. Empty is nothing.
type held struct{ expires, units string }

// acquire is chain for leases.
func (l *legs) acquire(ctx context.Context) error {
	if err := l.look(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(l.list, func(a, b leg) int { return a.gives() - b.gives() })
	return l.chain(ctx)
}

// count returns the units.
func (h held) count() int64 {
	units, _, _ := strings.Cut(h.units, " ") // the length of the lease follows
	n, err := strconv.ParseInt(units, 10, 64)
	if err != nil {
		return 0 // nothing, or something strange, of which the acquire will say so
	}
	return n
}

// holds reports whether the holder had units of any of a leg's limits.
func (e *leg) holds() bool {
	return slices.ContainsFunc(e.had, func(h held) bool { return h.units != "" })
}

// gives returns 0 where an acquire frees units of none of a leg's limits, 2 where
// it frees some and takes none, and 1 between.
func (e *leg) gives() int {
	frees, takes := false, false
	for i, h := range e.had {
		frees = frees || e.op.Charges[i].Cost < h.count()
		takes = takes || e.op.Charges[i].Cost > h.count()
	}
	switch {
	case !frees:
		return 0
	case takes:
		return 1
	default:
		return 2
	}
}

// lacks turns a leg's costs into what the holder would take beside what it has,
// for a peek; a cost above the limit stays, since it never fits.
func (e *leg) lacks() {
	for i, h := range e.had {
		if c := &e.op.Charges[i]; c.Cost <= c.Limit.Numbers().Count {
			c.Cost = max(0, c.Cost-h.count())
		}
	}
}

// look asks all legs at once what the holder has.
func (l *legs) look(ctx context.Context) error {
	commands := make([]Command, len(l.list))
	for n := range l.list {
		commands[n] = l.holder(n, "held")
	}
	replies, err := l.send(ctx, commands, l.store.scripts.alone("held"))
	if err != nil {
		return err
	}
	for n := range l.list {
		e, list := &l.list[n], replies[n].List
		e.had = make([]held, len(e.op.Charges))
		if len(list) != 2*len(e.had) {
			return l.store.fail(Other, errReply.Error(), nil)
		}
		for i := range e.had {
			e.had[i] = held{expires: list[2*i].Text, units: list[2*i+1].Text}
		}
	}
	return nil
}

// restore puts back what the holder had on a leg whose acquire passed, and reads
// how the leg's limits stand then.
func (l *legs) restore(ctx context.Context, n int) {
	e := &l.list[n]
	var before []string
	for i, h := range e.had {
		limit := e.op.Charges[i].Limit.Numbers()
		wrote := e.result.Outcome.AtMicros + limit.Period
		before = append(before, strconv.FormatInt(wrote, 10), strconv.FormatInt(limit.Count, 10), h.expires, h.units)
	}
	if _, err := l.send(ctx, []Command{l.holder(n, "restore", before...)}, l.store.scripts.alone("restore")); err != nil {
		return // as when a release is lost: it stays until it expires
	}
	for i := range e.op.Charges {
		e.op.Charges[i].Cost = 0
	}
	_ = l.do(ctx, n, engine.OpPeek, time.Time{})
}

// holder returns the command that runs a script on a leg's keys for the holder.
func (l *legs) holder(n int, name string, more ...string) Command {
	op := &l.list[n].op
	keys := l.store.Keys(op)
	args := append([]string{"EVALSHA", l.store.scripts.alone(name).sha, strconv.Itoa(len(keys))}, keys...)
	args = append(append(args, op.ID), more...)
	if l.store.clock != nil {
		args = append(args, strconv.FormatInt(l.store.now(), 10))
	}
	return Command{Key: keys[0], Args: args}
}

// send sends commands of one script, and the script itself where a server does
// not know it.
func (l *legs) send(ctx context.Context, commands []Command, s *script) ([]Reply, error) {
	replies := make([]Reply, len(commands))
	l.store.roundTrips.Add(1)
	l.store.conn.Do(ctx, commands, replies)
	for i := range replies {
		c := call{}
		for try := 1; try < tries && replies[i].Err != nil && ctx.Err() == nil && l.store.notRun(&c, replies[i].Err); try++ {
			if c.moving {
				rest(ctx, pause<<(try-1))
			}
			if c.eval {
				commands[i].Args[0], commands[i].Args[1] = "EVAL", s.body
			}
			l.store.roundTrips.Add(1)
			l.store.conn.Do(ctx, commands[i:i+1], replies[i:i+1])
		}
		if err := replies[i].Err; err != nil {
			return nil, l.store.wrap(ctx, err)
		}
	}
	return replies, nil
}

package redisstore

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// An acquire by a holder that already has permits renews them, or changes their number of units. If a later slot
// denies, the holder must keep its earlier permits. Therefore the acquire first reads these permits on all slots, and
// restores their units and expiry after a denial.
//
// If units are freed on a slot, another holder can take them before a later slot denies. Then they cannot be
// restored. Slots with units to free therefore come last: a slot that only frees units never denies.

// storedPermit is a holder's permit for one limit, as the server stores it: its expiry, and its units with its lease
// time. Both are empty if there is no permit.
type storedPermit struct{ expires, units string }

// count returns the number of units.
func (p storedPermit) count() int64 {
	units, _, _ := strings.Cut(p.units, " ") // the lease time follows
	n, err := strconv.ParseInt(units, 10, 64)
	if err != nil {
		return 0 // no permit, or garbage, which the acquire will report
	}
	return n
}

// acquire acquires permits on all slots, or on none.
func (x *splitOp) acquire(ctx context.Context) error {
	if err := x.readPermits(ctx); err != nil {
		return err
	}
	slices.SortStableFunc(x.slotOps, func(a, b slotOp) int { return a.acquireOrder() - b.acquireOrder() })
	return x.chargeInOrder(ctx)
}

// hasPermits reports whether the holder had units of any limit on the slot.
func (part *slotOp) hasPermits() bool {
	return slices.ContainsFunc(part.held, func(p storedPermit) bool { return p.units != "" })
}

// acquireOrder returns a slot's rank in an acquire: 0 if the acquire frees no units of the slot's limits, 1 if it frees
// and takes units, 2 if it only frees units.
func (part *slotOp) acquireOrder() int {
	frees, takes := false, false
	for i, p := range part.held {
		frees = frees || part.op.Charges[i].Cost < p.count()
		takes = takes || part.op.Charges[i].Cost > p.count()
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

// subtractHeld reduces the costs, for a peek, to the units that the holder would take in addition to its own. It does
// not reduce a cost above the limit, because such a cost never fits.
func (part *slotOp) subtractHeld() {
	for i, p := range part.held {
		if c := &part.op.Charges[i]; c.Cost <= c.Limit.Numbers().Count {
			c.Cost = max(0, c.Cost-p.count())
		}
	}
}

// readPermits reads the holder's permits on all slots at once.
func (x *splitOp) readPermits(ctx context.Context) error {
	script := x.store.scripts.permitsGet()
	commands := make([]Command, len(x.slotOps))
	for n := range x.slotOps {
		var holders []string
		for i := range x.slotOps[n].op.Charges {
			holder, _ := holderOf(&x.slotOps[n].op, i)
			holders = append(holders, holder)
		}
		commands[n] = x.permitCommand(n, script, holders)
	}
	replies, err := x.sendCommands(ctx, commands, script)
	if err != nil {
		return err
	}
	for n := range x.slotOps {
		part, list := &x.slotOps[n], replies[n].List
		part.held = make([]storedPermit, len(part.op.Charges))
		if len(list) != 2*len(part.held) {
			return x.store.fail(nil, Other, errReply.Error(), nil)
		}
		for i := range part.held {
			part.held[i] = storedPermit{expires: list[2*i].Text, units: list[2*i+1].Text}
		}
	}
	return nil
}

// restorePermits restores the holder's earlier permits on a slot whose acquire passed, and then reads the outcomes of
// the slot's limits.
func (x *splitOp) restorePermits(ctx context.Context, n int) {
	script := x.store.scripts.permitsRestore()
	part := &x.slotOps[n]
	var args []string
	for i, p := range part.held {
		limit := part.op.Charges[i].Limit.Numbers()
		wrote := part.result.AtMicros + limit.Period // the expiry written by the acquire
		holder, own := holderOf(&part.op, i)
		args = append(args, holder, own, strconv.FormatInt(wrote, 10), strconv.FormatInt(limit.Count, 10), p.expires, p.units)
	}
	if _, err := x.sendCommands(ctx, []Command{x.permitCommand(n, script, args)}, script); err != nil {
		return // the acquired units stay until they expire, as after a lost release
	}
	for i := range part.op.Charges {
		part.op.Charges[i].Cost = 0
	}
	_ = x.runSlot(ctx, n, engine.OpPeek, time.Time{})
}

// holderOf returns the holder of the operation's permit for the limit at index i. If the limit divides its units among
// keys, the holder begins with own, which encodes the key's number.
func holderOf(op *engine.Op, i int) (holder, own string) {
	if op.Charges[i].Limit.Algorithm().Divides() {
		own = string(binary.BigEndian.AppendUint64(nil, op.KeyHash(i)))
	}
	return own + op.ID, own
}

// permitCommand returns the command that runs a script on a slot's keys.
func (x *splitOp) permitCommand(n int, script *script, texts []string) Command {
	op := &x.slotOps[n].op
	keys := x.store.Keys(op)
	args := append([]string{"EVALSHA", script.sha, strconv.Itoa(len(keys))}, keys...)
	args = append(args, texts...)
	if x.store.clock != nil {
		args = append(args, strconv.FormatInt(x.store.now(), 10))
	}
	return Command{Key: keys[0], Args: args}
}

// sendCommands sends commands of one script, and resends those that did not run. If a server does not know the script,
// sendCommands sends its text.
func (x *splitOp) sendCommands(ctx context.Context, commands []Command, script *script) ([]Reply, error) {
	replies := make([]Reply, len(commands))
	x.store.roundTrips.Add(1)
	x.store.conn.Do(ctx, commands, replies)
	for i := range replies {
		c := scriptCall{}
		for try := 1; try < maxTries && replies[i].Err != nil && ctx.Err() == nil && x.store.canResend(&c, replies[i].Err); try++ {
			if c.moving {
				sleep(ctx, movePause<<(try-1))
			}
			if c.sendText {
				commands[i].Args[0], commands[i].Args[1] = "EVAL", script.text
			}
			x.store.roundTrips.Add(1)
			x.store.conn.Do(ctx, commands[i:i+1], replies[i:i+1])
		}
		if err := replies[i].Err; err != nil {
			return nil, x.store.wrap(ctx, script, err)
		}
	}
	x.store.working.ran(script, false)
	return replies, nil
}

package respapi

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/verbs"
)

// anyBucket is the limit for commands whose arguments name CL.THROTTLE keys but no limit. Its rate and burst do not
// matter, because they are not part of the counter's name.
var anyBucket = engine.Bucket(engine.Per(1, time.Second))

// eachKey returns a parser that makes a request for each of the command's keys.
func eachKey(kind engine.Kind) func([]decide.Request, [][]byte) ([]decide.Request, error) {
	return func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
		for _, word := range words[1:] {
			dst = append(dst, decide.Request{Kind: kind, Item: decide.Item{Limit: anyBucket}})
			r := &dst[len(dst)-1]
			if err := set(r, &r.Item, verbs.Key, word); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
}

// appendCount appends the number of keys that had state, or the first error.
func appendCount(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
	found := int64(0)
	for i := range answers {
		if answers[i].Err != nil {
			return appendError(dst, answers[i].Err)
		}
		if answers[i].Found {
			found++
		}
	}
	return wire.AppendInt(dst, found)
}

// keyCommands returns the commands for the keys of CL.THROTTLE.
func keyCommands() (commands []resp.DecisionCommand) {
	readonly := []string{"readonly", "fast"}
	for _, c := range []struct {
		name  string
		kind  engine.Kind
		flags []string
		many  bool
		reply func([]byte, wire.Proto, []decide.Response) []byte
	}{
		{"del", engine.OpReset, []string{"write"}, true, appendCount},
		{"unlink", engine.OpReset, []string{"write"}, true, appendCount},
		{"exists", engine.OpExpiry, readonly, true, appendCount},
		{"ttl", engine.OpExpiry, readonly, false, appendExpiry(time.Second)},
		{"pttl", engine.OpExpiry, readonly, false, appendExpiry(time.Millisecond)},
	} {
		s := resp.Spec{Name: c.name, Arity: 2, Flags: c.flags, FirstKey: 1, LastKey: 1, KeyStep: 1}
		if c.many {
			s.Arity, s.LastKey = -2, -1
		}
		commands = append(commands, resp.DecisionCommand{Spec: s, Parse: eachKey(c.kind), Reply: c.reply})
	}
	return commands
}

// appendExpiry returns a function that appends the time until all of a key's units are available again, rounded up, or
// -2 if they already are.
func appendExpiry(unit time.Duration) func([]byte, wire.Proto, []decide.Response) []byte {
	return func(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
		switch a := &answers[0]; {
		case a.Err != nil:
			return appendError(dst, a.Err)
		case !a.Found:
			return wire.AppendInt(dst, -2)
		default:
			return wire.AppendInt(dst, format.Ceil(a.TTL, unit))
		}
	}
}

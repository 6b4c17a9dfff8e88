package respapi

import (
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/verbs"
)

// anyBucket is the limit for commands whose arguments name CL.THROTTLE keys but no limit. Its rate and burst do not
// matter, because they are not part of the counter's name.
var anyBucket = rule.TokenBucket(rule.PerSecond(1))

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

// remove returns DEL or UNLINK.
func remove(name string) resp.DecisionCommand {
	return resp.DecisionCommand{
		Spec: resp.Spec{
			Name: name, Arity: -2, Flags: []string{"write"}, FirstKey: 1, LastKey: -1, KeyStep: 1,
			Syntax: "key [key ...]", Summary: "Forgets what CL.THROTTLE keys have spent.", Group: "generic",
		},
		Parse: eachKey(engine.OpReset), Reply: appendCount,
	}
}

// exists returns EXISTS.
func exists() resp.DecisionCommand {
	return resp.DecisionCommand{
		Spec: resp.Spec{
			Name: "exists", Arity: -2, Flags: []string{"readonly", "fast"}, FirstKey: 1, LastKey: -1, KeyStep: 1,
			Syntax: "key [key ...]", Summary: "Counts the CL.THROTTLE keys that have spent anything.", Group: "generic",
		},
		Parse: eachKey(engine.OpExpiry), Reply: appendCount,
	}
}

// ttl returns TTL or PTTL. They reply with the time until all of a key's units are available again, rounded up, or with
// -2 if they already are.
func ttl(name string, unit time.Duration) resp.DecisionCommand {
	return resp.DecisionCommand{
		Spec: resp.Spec{
			Name: name, Arity: 2, Flags: []string{"readonly", "fast"}, FirstKey: 1, LastKey: 1, KeyStep: 1,
			Syntax: "key", Summary: "Returns the time until a CL.THROTTLE key is fully reset.", Group: "generic",
		},
		Parse: eachKey(engine.OpExpiry),
		Reply: func(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
			a := &answers[0]
			switch {
			case a.Err != nil:
				return appendError(dst, a.Err)
			case !a.Found:
				return wire.AppendInt(dst, -2)
			default:
				return wire.AppendInt(dst, format.Ceil(a.TTL, unit))
			}
		},
	}
}

package respapi

import (
	"bytes"
	"errors"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
)

// errCharges is the error for a command with too many charges.
var errCharges = errors.New("charges must be 1 to 32, each a policy, a key and units")

// ownUnits in place of a number of units means the policy's own cost.
const ownUnits = "*"

// ofCharges returns the command HEADGATE.ALLOWALL, HEADGATE.PEEKALL or HEADGATE.RESERVEALL.
func ofCharges(name string, kind engine.Kind, summary string) command {
	return command{
		Spec: resp.Spec{
			Name: name, Arity: -4, Flags: []string{"write", "fast"}, FirstKey: 2, LastKey: -2, KeyStep: 3,
			Syntax: "policy key units [policy key units ...]" + classSyntax + " [ATOMIC]", Summary: summary, Group: "headgate",
		},
		Parse: func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
			words = words[1:]
			atomic := len(words)%3 != 2 && len(words) > 3 && bytes.EqualFold(words[len(words)-1], []byte("atomic"))
			if atomic {
				words = words[:len(words)-1]
			}
			class := ""
			if len(words)%3 == 2 {
				words, class = cutClass(words, 3)
			}
			switch {
			case len(words)%3 != 0:
				return dst, errArity(name)
			case len(words) > 3*engine.MaxCharges:
				return dst, errCharges
			}
			items := make([]decide.Item, 0, len(words)/3)
			for i := 0; i < len(words); i += 3 {
				item, err := parseItem(words[i : i+3])
				if err != nil {
					return dst, service.OfCharge(len(items), &service.Error{Err: err})
				}
				items = append(items, item)
			}
			return append(dst, decide.Request{Kind: kind, Items: items, Class: class, Atomic: atomic}), nil
		},
		Reply: func(dst []byte, proto wire.Proto, answers []decide.Response) []byte {
			r := &answers[0]
			if r.Err != nil {
				return appendError(dst, ofUnits(r.Err))
			}
			if kind != engine.OpReserve {
				return appendLimits(appendSixOf(dst, 7, r), r)
			}
			return appendHandle(appendLimits(appendSixOf(dst, 8, r), r), proto, r.Reservation)
		},
	}
}

func parseItem(words [][]byte) (item decide.Item, err error) {
	if len(words[0]) == 0 || len(words[0]) > maxPolicyName {
		return item, errPolicy
	}
	item.Policy = strings.Clone(text(words[0]))
	if item.Key, err = parseKey(words[1]); err != nil {
		return item, err
	}
	if item.HasCost = string(words[2]) != ownUnits; item.HasCost {
		item.Cost, err = parseInt("units", words[2], 0, maxQuantity)
	}
	return item, err
}

// appendLimits appends an array of the limits, with the binding limit first. Each element contains the policy, the
// index of the limit's first charge, and CL.THROTTLE's five integers.
func appendLimits(dst []byte, r *decide.Response) []byte {
	if !r.Listed {
		return wire.AppendArray(dst, 0)
	}
	dst = wire.AppendArray(dst, r.Count())
	if r.Count() == 0 {
		return dst
	}
	dst = appendLimit(dst, r, r.Binding)
	for i := range r.Count() {
		if i != r.Binding {
			dst = appendLimit(dst, r, i)
		}
	}
	return dst
}

func appendLimit(dst []byte, r *decide.Response, i int) []byte {
	c, s := r.Charge(i), r.Of(i)
	dst = wire.AppendBulk(wire.AppendArray(dst, 7), c.Policy)
	return appendFive(wire.AppendInt(dst, int64(c.FirstItem())), s.RetryAfter == 0, s)
}

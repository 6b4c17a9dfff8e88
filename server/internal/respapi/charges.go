package respapi

import (
	"bytes"
	"errors"
	"strings"

	"github.com/headgate/headgate"
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
			Syntax: syntaxOf(kind), Summary: summary, Group: "headgate",
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
				item, err := parseItem(words[i:i+3], kind)
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

// syntaxOf returns the syntax of a command. Only a reserve has ceilings.
func syntaxOf(kind engine.Kind) string {
	if kind == engine.OpReserve {
		return "policy key units[/ceiling] [policy key units[/ceiling] ...]" + classSyntax + " [ATOMIC]"
	}
	return "policy key units [policy key units ...]" + classSyntax + " [ATOMIC]"
}

func parseItem(words [][]byte, kind engine.Kind) (item decide.Item, err error) {
	if len(words[0]) == 0 || len(words[0]) > maxPolicyName {
		return item, errPolicy
	}
	item.Policy = strings.Clone(text(words[0]))
	if item.Key, err = parseKey(words[1]); err != nil {
		return item, err
	}
	units, ceiling, capped := words[2], []byte(nil), false
	if kind == engine.OpReserve {
		units, ceiling, capped = bytes.Cut(units, []byte("/"))
	}
	if item.HasCost = string(units) != ownUnits; item.HasCost {
		if item.Cost, err = parseInt("units", units, 0, maxQuantity); err != nil {
			return item, err
		}
	}
	if capped {
		item.Ceiling, err = parseInt("ceiling", ceiling, 1, maxQuantity)
	}
	return item, err
}

// appendLimits appends an array of the limits, with the binding limit first. Each element contains the policy, the
// index of the limit's first charge, and CL.THROTTLE's five integers. If open reservations with a ceiling can still
// charge units, their number follows.
func appendLimits(dst []byte, r *decide.Response) []byte {
	dst = wire.AppendArray(dst, len(r.Limits))
	if len(r.Limits) == 0 {
		return dst
	}
	binding := r.Decision.Binding.Index
	dst = appendLimit(dst, &r.Limits[binding])
	for i := range r.Limits {
		if i != binding {
			dst = appendLimit(dst, &r.Limits[i])
		}
	}
	return dst
}

func appendLimit(dst []byte, l *decide.LimitAnswer) []byte {
	size := 7
	if l.Pending > 0 {
		size++
	}
	dst = wire.AppendBulk(wire.AppendArray(dst, size), l.Policy)
	dst = wire.AppendInt(dst, int64(l.Items[0]))
	of := &l.Decision
	dst = appendFive(dst, &headgate.Decision{
		Allowed: of.RetryAfter == 0, Unlimited: of.Unlimited, Limit: of.Limit, Remaining: of.Remaining,
		RetryAfter: of.RetryAfter, ResetAfter: of.ResetAfter,
	})
	if l.Pending > 0 {
		dst = wire.AppendInt(dst, l.Pending)
	}
	return dst
}

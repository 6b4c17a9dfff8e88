package respapi

import (
	"errors"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
)

// policySummaries contains the commands' summaries for clients.
var policySummaries = map[engine.Kind]string{
	engine.OpAllow: "Charges units of a policy, or returns when to retry.",
	engine.OpPeek:  "Answers as HEADGATE.ALLOW would, and charges nothing.",
	engine.OpGive:  "Gives units back.",
	engine.OpReset: "Forgets what a key has spent of a policy.",
}

// byPolicy returns a command of the form HEADGATE.VERB policy key [units].
func byPolicy(name string, kind engine.Kind, reply func([]byte, *decide.Response) []byte) command {
	spec := resp.Spec{
		Name: name, Arity: -3, Flags: []string{"write", "fast"}, FirstKey: 2, LastKey: 2, KeyStep: 1,
		Syntax: "policy key [units]", Summary: policySummaries[kind], Group: "headgate",
	}
	maxWords, classes := 4, kind == engine.OpAllow || kind == engine.OpPeek
	if classes {
		spec.Syntax += classSyntax
	}
	if kind == engine.OpAllow {
		spec.Syntax += outcomesSyntax
	}
	if kind == engine.OpReset {
		spec.Arity, spec.Syntax, maxWords = 3, "policy key", 3
	}
	return command{
		Spec: spec,
		Parse: func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
			class := ""
			var outcomes *algo.Report
			if kind == engine.OpAllow {
				var err error
				if words, outcomes, err = cutOutcomes(words, 3); err != nil {
					return dst, err
				}
			}
			if classes {
				words, class = cutClass(words, 3)
			}
			if len(words) > maxWords {
				return dst, errArity(name)
			}
			dst, err := parsePolicy(dst, kind, class, words)
			if err == nil {
				dst[len(dst)-1].Outcomes = outcomes
			}
			return dst, err
		},
		Reply: func(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
			if err := answers[0].Err; err != nil {
				return appendError(dst, ofUnits(err))
			}
			return reply(dst, &answers[0])
		},
	}
}

func parsePolicy(dst []decide.Request, kind engine.Kind, class string, words [][]byte) ([]decide.Request, error) {
	if len(words[1]) == 0 || len(words[1]) > maxPolicyName {
		return dst, errPolicy
	}
	key, err := parseKey(words[2])
	if err != nil {
		return dst, err
	}
	r := decide.Request{Kind: kind, Item: decide.Item{Policy: strings.Clone(text(words[1])), Key: key}, Class: class}
	if len(words) == 4 {
		r.HasCost = true
		if r.Cost, err = parseInt("units", words[3], 0, maxQuantity); err != nil {
			return dst, err
		}
	}
	return append(dst, r), nil
}

// ofUnits returns err with the field "cost" renamed to "units", its name in commands. It returns other errors unchanged.
func ofUnits(err error) error {
	var decided *service.Error
	var input *engine.InputError
	if !errors.As(err, &decided) || !errors.As(err, &input) || input.Field != "cost" {
		return err
	}
	units := *input
	units.Field = "units"
	return &service.Error{Code: decided.Code, Field: units.Field, Err: &units}
}

// appendSix appends an array of CL.THROTTLE's five integers and the delay in ms. For a policy with "first", the
// charged limit follows.
func appendSix(dst []byte, r *decide.Response) []byte {
	if r.Paid == "" {
		return appendSixOf(dst, 6, r)
	}
	return wire.AppendBulk(appendSixOf(dst, 7, r), r.Paid)
}

// appendSixOf starts an array with the given length. It appends the first six elements: CL.THROTTLE's five integers
// and the delay in ms.
func appendSixOf(dst []byte, length int, r *decide.Response) []byte {
	dst = appendFive(wire.AppendArray(dst, length), r.Allowed, r.Binds())
	return wire.AppendInt(dst, format.Millis(r.Delay))
}

// appendRemaining appends the remaining units, or -1 if no limit applies.
func appendRemaining(dst []byte, r *decide.Response) []byte {
	if r.Binds().Unlimited {
		return wire.AppendInt(dst, -1)
	}
	return wire.AppendInt(dst, r.Binds().Remaining)
}

// appendFound appends 1 if the key had state, and 0 otherwise.
func appendFound(dst []byte, r *decide.Response) []byte {
	if r.Found {
		return wire.AppendInt(dst, 1)
	}
	return wire.AppendInt(dst, 0)
}

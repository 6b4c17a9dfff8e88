package respapi

import (
	"errors"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
)

const (
	maxIDBytes     = 64
	maxDelayMillis = maxPeriodSeconds * 1000
)

var (
	errID          = errors.New("id must be that of the acquire, 1 to 64 bytes")
	errReservation = errors.New("reservation must be the one that HEADGATE.RESERVE answered")
)

// holdCommand returns a command that makes one request. The argument most is the maximum number of words, including the
// command's name. The function parse sets the request's fields, and reply appends the reply if there is no error.
func holdCommand(spec resp.Spec, most int, parse func(*decide.Request, [][]byte) error, reply func([]byte, wire.Proto, *decide.Response) []byte) command {
	spec.Flags, spec.Group = []string{"write", "fast"}, "headgate"
	return command{
		Spec: spec,
		Parse: func(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
			var r decide.Request
			if strings.HasSuffix(spec.Syntax, classSyntax) {
				words, r.Class = cutClass(words, 3)
			}
			if len(words) > most {
				return dst, errArity(spec.Name)
			}
			if err := parse(&r, words); err != nil {
				return dst, err
			}
			return append(dst, r), nil
		},
		Reply: func(dst []byte, proto wire.Proto, answers []decide.Response) []byte {
			if err := answers[0].Err; err != nil {
				return appendError(dst, ofUnits(err))
			}
			return reply(dst, proto, &answers[0])
		},
	}
}

// onPolicy parses a command that begins with a policy and a key, optionally followed by the cost.
func onPolicy(kind engine.Kind, r *decide.Request, words [][]byte) error {
	requests, err := parsePolicy(nil, kind, r.Class, words)
	if err != nil {
		return err
	}
	*r = requests[0]
	return nil
}

// reserve returns HEADGATE.RESERVE.
func reserve() command {
	return holdCommand(resp.Spec{
		Name: "headgate.reserve", Arity: -3, FirstKey: 2, LastKey: 2, KeyStep: 1, Syntax: "policy key [units [max_delay_ms]]" + classSyntax,
		Summary: "Reserves units, also such that come later, until they are committed or cancelled.",
	}, 5, func(r *decide.Request, words [][]byte) (err error) {
		if err = onPolicy(engine.OpReserve, r, words[:min(len(words), 4)]); err != nil || len(words) < 5 {
			return err
		}
		millis, err := parseInt("max_delay_ms", words[4], 0, maxDelayMillis)
		r.MaxDelay = time.Duration(millis) * time.Millisecond
		return err
	}, func(dst []byte, proto wire.Proto, r *decide.Response) []byte {
		return wire.AppendInt(appendHandle(appendSixOf(dst, 8, r), proto, r.Reservation), retryMillis(r))
	})
}

// retryMillis returns the time until a retry of a denied request passes, in ms, rounded up. It returns -1 if the
// request is allowed or can never pass.
func retryMillis(r *decide.Response) int64 {
	if r.Allowed || r.Binds().RetryAfter == engine.Never {
		return -1
	}
	return format.Millis(r.Binds().RetryAfter)
}

// settle returns HEADGATE.COMMIT or HEADGATE.CANCEL.
func settle(name string, commits bool) command {
	spec := resp.Spec{Name: name, Arity: 2, Syntax: "reservation", Summary: "Gives the units of a reservation back."}
	most := 2
	if commits {
		spec.Arity, spec.Syntax, spec.Summary = -3, "reservation actual [actual ...]", "Settles a reservation with the units that were used, of all charges or of each."
		most += engine.MaxCharges
	}
	return holdCommand(spec, most, settling, withFound)
}

// report returns HEADGATE.REPORT.
func report() command {
	return holdCommand(resp.Spec{
		Name: "headgate.report", Arity: -3, Syntax: "reservation actual [actual ...]",
		Summary: "Says what was used of a reservation so far, and begins its time again.",
	}, 2+engine.MaxCharges, func(r *decide.Request, words [][]byte) error {
		r.Reports = true
		return settling(r, words)
	}, withFound)
}

// settling parses a reservation and the numbers of used units, which are 0 if the command contains none.
func settling(r *decide.Request, words [][]byte) (err error) {
	r.Kind, r.HasCost, r.Reservation = engine.OpSettle, true, strings.Clone(text(words[1]))
	if r.Reservation == "" {
		return errReservation
	}
	used := make([]int64, len(words)-2)
	for i := range used {
		if used[i], err = parseInt("actual", words[2+i], 0, maxQuantity); err != nil && len(used) > 1 {
			return service.OfCharge(i, &service.Error{Err: err})
		} else if err != nil {
			return err
		}
	}
	if len(used) > 0 {
		r.Cost = used[0]
	}
	if len(used) > 1 {
		r.Used = used
	}
	return nil
}

// renewAll returns HEADGATE.RENEWALL.
func renewAll() command {
	return holdCommand(resp.Spec{
		Name: "headgate.renewall", Arity: 2, Syntax: "reservation", Summary: "Holds the permits of a reservation for another lease time.",
	}, 2, func(r *decide.Request, words [][]byte) error {
		r.Kind, r.Reservation = engine.OpRenew, strings.Clone(text(words[1]))
		if r.Reservation == "" {
			return errReservation
		}
		return nil
	}, withHeld)
}

// acquire returns HEADGATE.ACQUIRE.
func acquire() command {
	return holdCommand(resp.Spec{
		Name: "headgate.acquire", Arity: -3, FirstKey: 2, LastKey: 2, KeyStep: 1, Syntax: "policy key [units [id]]" + classSyntax,
		Summary: "Holds units of a concurrency limit until they are released, or not renewed in time.",
	}, 5, func(r *decide.Request, words [][]byte) error {
		if err := onPolicy(engine.OpAcquire, r, words[:min(len(words), 4)]); err != nil || len(words) < 5 {
			return err
		}
		return parseID(r, words[4])
	}, func(dst []byte, proto wire.Proto, r *decide.Response) []byte {
		return wire.AppendInt(appendHandle(appendSixOf(dst, 8, r), proto, r.ID), format.Millis(r.Lease))
	})
}

// ofHolder returns HEADGATE.RENEW or HEADGATE.RELEASE.
func ofHolder(name string, kind engine.Kind, summary string, reply func([]byte, wire.Proto, *decide.Response) []byte) command {
	return holdCommand(resp.Spec{
		Name: name, Arity: 4, FirstKey: 2, LastKey: 2, KeyStep: 1, Syntax: "policy key id", Summary: summary,
	}, 4, func(r *decide.Request, words [][]byte) error {
		if err := onPolicy(kind, r, words[:3]); err != nil {
			return err
		}
		return parseID(r, words[3])
	}, reply)
}

func parseID(r *decide.Request, word []byte) error {
	if len(word) == 0 || len(word) > maxIDBytes {
		return errID
	}
	r.ID = strings.Clone(text(word))
	return nil
}

// withFound appends 1 if there was anything to settle or release, and 0 otherwise.
func withFound(dst []byte, _ wire.Proto, r *decide.Response) []byte { return appendFound(dst, r) }

// withHeld appends 1 if the permit is still held, and 0 otherwise.
func withHeld(dst []byte, _ wire.Proto, r *decide.Response) []byte {
	if r.Allowed {
		return wire.AppendInt(dst, 1)
	}
	return wire.AppendInt(dst, 0)
}

// appendHandle appends the id that later commands need, or null if handle is "".
func appendHandle(dst []byte, proto wire.Proto, handle string) []byte {
	if handle == "" {
		return wire.AppendNull(dst, proto)
	}
	return wire.AppendBulk(dst, handle)
}

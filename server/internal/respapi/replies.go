package respapi

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/verbs"
)

// reply appends the reply to a request that was decided. The argument list is true if the command has a list of charges.
type reply func(dst []byte, proto wire.Proto, r *decide.Response, list bool) []byte

var replies = [...]reply{
	verbs.Decision: func(dst []byte, _ wire.Proto, r *decide.Response, list bool) []byte {
		switch {
		case list:
			return appendLimits(appendSix(dst, 7, r), r)
		case r.Paid == "":
			return appendSix(dst, 6, r)
		default: // of a policy with "first"
			return wire.AppendBulk(appendSix(dst, 7, r), r.Paid)
		}
	},
	verbs.Given: func(dst []byte, _ wire.Proto, r *decide.Response, _ bool) []byte {
		_, remaining := capacityOf(r.Binds())
		return wire.AppendInt(dst, remaining)
	},
	verbs.Reserved: func(dst []byte, proto wire.Proto, r *decide.Response, list bool) []byte {
		if dst = appendSix(dst, 8, r); list {
			return appendHandle(appendLimits(dst, r), proto, r.Reservation)
		}
		return wire.AppendInt(appendHandle(dst, proto, r.Reservation), retryMillis(r))
	},
	verbs.Acquired: func(dst []byte, proto wire.Proto, r *decide.Response, _ bool) []byte {
		return wire.AppendInt(appendHandle(appendSix(dst, 8, r), proto, r.ID), format.Millis(r.Lease))
	},
	verbs.Renewed:  func(dst []byte, _ wire.Proto, r *decide.Response, _ bool) []byte { return appendBool(dst, r.Allowed) },
	verbs.Reset:    appendFound,
	verbs.Settled:  appendFound,
	verbs.Reported: appendFound,
	verbs.Released: appendFound,
}

// appendFound appends 1 if there was anything to reset, settle or release, and 0 otherwise.
func appendFound(dst []byte, _ wire.Proto, r *decide.Response, _ bool) []byte {
	return appendBool(dst, r.Found)
}

func appendBool(dst []byte, is bool) []byte {
	if is {
		return wire.AppendInt(dst, 1)
	}
	return wire.AppendInt(dst, 0)
}

// appendSix starts an array with the given length. It appends the first six elements: CL.THROTTLE's five integers and
// the delay in ms.
func appendSix(dst []byte, length int, r *decide.Response) []byte {
	dst = appendFive(wire.AppendArray(dst, length), r.Allowed, r.Binds())
	return wire.AppendInt(dst, format.Millis(r.Delay))
}

// appendFive appends CL.THROTTLE's five integers.
func appendFive(dst []byte, allowed bool, s *engine.Standing) []byte {
	denied := int64(1)
	if allowed {
		denied = 0
	}
	limit, remaining := capacityOf(s)
	retry := int64(-1)
	if !allowed && s.RetryAfter != engine.Never {
		retry = max(1, format.Ceil(s.RetryAfter, time.Second))
	}
	for _, n := range [...]int64{denied, limit, remaining, retry, format.Ceil(s.ResetAfter, time.Second)} {
		dst = wire.AppendInt(dst, n)
	}
	return dst
}

// capacityOf returns the capacity and the remaining units, or -1 twice if no limit applies.
func capacityOf(s *engine.Standing) (limit, remaining int64) {
	if s.Unlimited {
		return -1, -1
	}
	return s.Limit, s.Remaining
}

// retryMillis returns the time until a retry of a denied request passes, in ms, rounded up. It returns -1 if the
// request is allowed or can never pass.
func retryMillis(r *decide.Response) int64 {
	if r.Allowed || r.Binds().RetryAfter == engine.Never {
		return -1
	}
	return format.Millis(r.Binds().RetryAfter)
}

// appendHandle appends the id that later commands need, or null if handle is "".
func appendHandle(dst []byte, proto wire.Proto, handle string) []byte {
	if handle == "" {
		return wire.AppendNull(dst, proto)
	}
	return wire.AppendBulk(dst, handle)
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

// errorCodes maps the service's error codes to RESP error codes. All other errors have the code ERR.
var errorCodes = map[service.Code]string{service.Unavailable: "UNAVAILABLE", service.WrongVerb: "WRONGVERB"}

// appendError appends an error from the service with the RESP error code from errorCodes.
func appendError(dst []byte, err error) []byte {
	code := "ERR"
	if e, ok := errors.AsType[*service.Error](err); ok {
		code = cmp.Or(errorCodes[e.Code], code)
	}
	return wire.AppendError(dst, code+" "+strings.TrimPrefix(err.Error(), "headgate: "))
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

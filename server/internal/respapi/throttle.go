package respapi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/service"
)

type command = resp.DecisionCommand

// Commands returns all decision commands.
func Commands() []resp.DecisionCommand {
	return []command{
		throttle(),
		remove("del"), remove("unlink"), exists(), ttl("ttl", time.Second), ttl("pttl", time.Millisecond),
		byPolicy("headgate.allow", engine.OpAllow, appendSix),
		byPolicy("headgate.peek", engine.OpPeek, appendSix),
		ofCharges("headgate.allowall", engine.OpAllow, "Charges units of several policies and keys, or none and returns when to retry."),
		ofCharges("headgate.peekall", engine.OpPeek, "Answers as HEADGATE.ALLOWALL would, and charges nothing."),
		ofCharges("headgate.reserveall", engine.OpReserve, "Reserves units of several policies and keys, and permits, or none; HEADGATE.COMMIT settles them."), renewAll(),
		byPolicy("headgate.give", engine.OpGive, appendRemaining),
		byPolicy("headgate.reset", engine.OpReset, appendFound),
		reserve(), settle("headgate.commit", true), settle("headgate.cancel", false), report(), acquire(),
		ofHolder("headgate.renew", engine.OpRenew, "Holds the units of a permit for another lease time.", withHeld),
		ofHolder("headgate.release", engine.OpRelease, "Gives the units of a permit back.", withFound),
	}
}

// throttle returns CL.THROTTLE.
func throttle() command {
	return command{
		Spec: resp.Spec{
			Name: "cl.throttle", Arity: -5, Flags: []string{"write", "fast"}, FirstKey: 1, LastKey: 1, KeyStep: 1,
			Syntax: "key max_burst count period [quantity]", Group: "headgate",
			Summary: "Takes a quantity from a token bucket, or returns when to retry.",
		},
		Parse: parseThrottle,
		Reply: func(dst []byte, _ wire.Proto, answers []decide.Response) []byte {
			if err := answers[0].Err; err != nil {
				return appendError(dst, err)
			}
			return appendFive(wire.AppendArray(dst, 5), answers[0].Allowed, answers[0].Binds())
		},
	}
}

func parseThrottle(dst []decide.Request, words [][]byte) ([]decide.Request, error) {
	if len(words) > 6 {
		return dst, errArity("cl.throttle")
	}
	key, err := parseKey(words[1])
	if err != nil {
		return dst, err
	}
	var n numbers
	if n.maxBurst, err = parseInt("max_burst", words[2], 0, algo.MaxUnits-1); err != nil {
		return dst, err
	}
	if n.count, err = parseInt("count per period", words[3], 1, algo.MaxUnits); err != nil {
		return dst, err
	}
	if n.period, err = parseInt("period", words[4], 1, maxPeriodSeconds); err != nil {
		return dst, err
	}
	quantity := int64(1)
	if len(words) == 6 {
		if quantity, err = parseInt("quantity", words[5], 0, maxQuantity); err != nil {
			return dst, err
		}
	}
	limit, err := n.limit()
	if err != nil {
		return dst, err
	}
	return append(dst, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Limit: limit, Key: key, Cost: quantity, HasCost: true}}), nil
}

// appendFive appends CL.THROTTLE's five integers. If no limit applies, capacity and remaining are -1.
func appendFive(dst []byte, allowed bool, s *engine.Standing) []byte {
	denied := int64(1)
	if allowed {
		denied = 0
	}
	limit, remaining := s.Limit, s.Remaining
	if s.Unlimited {
		limit, remaining = -1, -1
	}
	retry := int64(-1)
	if !allowed && s.RetryAfter != engine.Never {
		retry = max(1, format.Ceil(s.RetryAfter, time.Second))
	}
	for _, n := range [...]int64{denied, limit, remaining, retry, format.Ceil(s.ResetAfter, time.Second)} {
		dst = wire.AppendInt(dst, n)
	}
	return dst
}

const (
	maxPeriodSeconds = 36525 * 24 * 60 * 60
	maxQuantity      = math.MaxInt64
	maxPolicyName    = 64
)

var (
	errKey    = errors.New("key must be 1 to 1024 bytes")
	errPolicy = errors.New("policy must be a name of 1 to 64 bytes")
)

func errArity(name string) error {
	return fmt.Errorf("wrong number of arguments for '%s' command", name)
}

// text returns the word as a string that shares its memory. This is safe because the word does not change during the
// service call, and [engine.Store] forbids stores and layers to retain a key.
func text(word []byte) string { return unsafe.String(unsafe.SliceData(word), len(word)) }

func parseKey(word []byte) (string, error) {
	if len(word) == 0 || len(word) > engine.MaxKeyBytes {
		return "", errKey
	}
	return text(word), nil
}

// parseInt parses a decimal number without a plus sign and checks its range.
func parseInt(name string, word []byte, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text(word), 10, 64)
	if err != nil || word[0] == '+' || n < least || n > most {
		return 0, fmt.Errorf("%s must be an integer from %d to %d", name, least, most)
	}
	return n, nil
}

// numbers holds the arguments of CL.THROTTLE that describe the limit.
type numbers struct{ maxBurst, count, period int64 }

// limitCache caches limits, because most of a client's calls use the same few. It is indexed by a hash. A new limit
// replaces the previous one in its entry.
var limitCache [256]atomic.Pointer[builtLimit]

type builtLimit struct {
	numbers numbers
	limit   engine.Limit
}

// limit returns the token bucket described by the numbers.
func (n numbers) limit() (engine.Limit, error) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio, which spreads small numbers
	h := uint64(n.maxBurst)
	h = (h*golden + uint64(n.count)) * golden
	h = (h + uint64(n.period)) * golden
	entry := &limitCache[h>>56]
	if built := entry.Load(); built != nil && built.numbers == n {
		return built.limit, nil
	}
	limit := rule.TokenBucket(rule.Per(n.count, time.Duration(n.period)*time.Second), rule.Burst(n.maxBurst+1))
	if err := limit.Err(); err != nil {
		return limit, errors.New("max_burst, count and period: " + strings.TrimPrefix(err.Error(), "headgate: "))
	}
	entry.Store(&builtLimit{numbers: n, limit: limit})
	return limit, nil
}

// WrongVerb is the error code for a command that does not apply to its policy's limits.
const WrongVerb = "WRONGVERB"

// errorCodes maps the service's error codes to RESP error codes. All other errors have the code ERR.
var errorCodes = map[service.Code]string{service.Unavailable: "UNAVAILABLE", service.WrongVerb: WrongVerb}

// appendError appends an error from the service with the RESP error code from errorCodes.
func appendError(dst []byte, err error) []byte {
	code := "ERR"
	if e, ok := errors.AsType[*service.Error](err); ok {
		code = cmp.Or(errorCodes[e.Code], code)
	}
	return wire.AppendError(dst, code+" "+strings.TrimPrefix(err.Error(), "headgate: "))
}

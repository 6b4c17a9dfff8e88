package respapi

import (
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
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/wire"
	"github.com/headgate/headgate/server/internal/verbs"
)

// throttle returns CL.THROTTLE.
func throttle() resp.DecisionCommand {
	return resp.DecisionCommand{
		Spec: resp.Spec{
			Name: "cl.throttle", Arity: -5, Flags: []string{"write", "fast"}, FirstKey: 1, LastKey: 1, KeyStep: 1,
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
	dst = append(dst, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Cost: 1, HasCost: true}})
	r := &dst[len(dst)-1]
	err := set(r, &r.Item, verbs.Key, words[1])
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
	if len(words) == 6 {
		if r.Cost, err = parseInt("quantity", words[5], 0, maxQuantity); err != nil {
			return dst, err
		}
	}
	r.Limit, err = n.limit()
	return dst, err
}

// errNoLua is the error for scripts, which some clients send because they have no method for CL.THROTTLE.
var errNoLua = errors.New("this server runs no Lua; accepted: the command without a script, CL.THROTTLE key max_burst count period [quantity], by your client's call for any command")

// scripts returns the commands for scripts. They have no reply but [errNoLua].
func scripts() (commands []resp.DecisionCommand) {
	for _, name := range []string{"eval", "evalsha", "script"} {
		commands = append(commands, resp.DecisionCommand{
			Spec:  resp.Spec{Name: name, Arity: -1},
			Parse: func(dst []decide.Request, _ [][]byte) ([]decide.Request, error) { return dst, errNoLua },
		})
	}
	return commands
}

const (
	maxPeriodSeconds = 36525 * 24 * 60 * 60
	maxQuantity      = math.MaxInt64
)

func errArity(name string) error {
	return fmt.Errorf("wrong number of arguments for '%s' command", name)
}

// text returns the word as a string that shares its memory. This is safe because the word does not change during the
// service call, and [engine.Store] forbids stores and layers to retain a key.
func text(word []byte) string { return unsafe.String(unsafe.SliceData(word), len(word)) }

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
	limit := engine.Bucket(engine.Per(n.count, time.Duration(n.period)*time.Second),
		engine.Setting{Field: "burst", Units: n.maxBurst + 1})
	if err := limit.Err(); err != nil {
		return limit, errors.New("max_burst, count and period: " + strings.TrimPrefix(err.Error(), "headgate: "))
	}
	entry.Store(&builtLimit{numbers: n, limit: limit})
	return limit, nil
}

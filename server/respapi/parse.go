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

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/resp/wire"
	"github.com/headgate/headgate/server/service"
)

const (
	maxUnits         = 1<<32 - 1
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

// text is the word as a string that shares its memory. The service keeps no key
// beyond its call, and the word stays as it is until then: [engine.Store] forbids
// every store and layer to read it later.
func text(word []byte) string { return unsafe.String(unsafe.SliceData(word), len(word)) }

func parseKey(word []byte) (string, error) {
	if len(word) == 0 || len(word) > engine.MaxKeyBytes {
		return "", errKey
	}
	return text(word), nil
}

// parseInt reads a decimal without anything around it.
func parseInt(name string, word []byte, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text(word), 10, 64)
	if err != nil || word[0] == '+' || n < least || n > most {
		return 0, fmt.Errorf("%s must be an integer from %d to %d", name, least, most)
	}
	return n, nil
}

// numbers are CL.THROTTLE's arguments.
type numbers struct{ maxBurst, count, period int64 }

// limits remembers the limits built last, because a client's calls mostly carry
// the same few: each place holds one, and a new one takes its place.
var limits [256]atomic.Pointer[builtLimit]

type builtLimit struct {
	numbers numbers
	limit   headgate.Limit
}

func (n numbers) limit() (headgate.Limit, error) {
	const spread = 0x9e3779b97f4a7c15 // the golden ratio, to tell small numbers apart
	h := uint64(n.maxBurst)
	h = (h*spread + uint64(n.count)) * spread
	h = (h + uint64(n.period)) * spread
	place := &limits[h>>56]
	if built := place.Load(); built != nil && built.numbers == n {
		return built.limit, nil
	}
	limit := headgate.TokenBucket(headgate.Per(n.count, time.Duration(n.period)*time.Second), headgate.Burst(n.maxBurst+1))
	if err := limit.Err(); err != nil {
		return limit, errors.New("max_burst, count and period: " + strings.TrimPrefix(err.Error(), "headgate: "))
	}
	place.Store(&builtLimit{numbers: n, limit: limit})
	return limit, nil
}

// appendError writes an error of the service.
func appendError(dst []byte, err error) []byte {
	code := "ERR "
	var e *service.Error
	if errors.As(err, &e) && e.Code == service.Unavailable {
		code = "UNAVAILABLE "
	}
	return wire.AppendError(dst, code+strings.TrimPrefix(err.Error(), "headgate: "))
}

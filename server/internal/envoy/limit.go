package envoy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

type unit = pb.RateLimitResponse_RateLimit_Unit

// unitSeconds contains the lengths of the units. Months and years are 30 and 365 days, because their windows are
// aligned to 1970, not to the calendar.
var unitSeconds = map[unit]int64{
	pb.RateLimitResponse_RateLimit_SECOND: 1,
	pb.RateLimitResponse_RateLimit_MINUTE: 60,
	pb.RateLimitResponse_RateLimit_HOUR:   3600,
	pb.RateLimitResponse_RateLimit_DAY:    86_400,
	pb.RateLimitResponse_RateLimit_WEEK:   7 * 86_400,
	pb.RateLimitResponse_RateLimit_MONTH:  30 * 86_400,
	pb.RateLimitResponse_RateLimit_YEAR:   365 * 86_400,
}

// units lists the units by length. Weeks are omitted, so that seven days are shown as days.
var units = []unit{
	pb.RateLimitResponse_RateLimit_SECOND, pb.RateLimitResponse_RateLimit_MINUTE, pb.RateLimitResponse_RateLimit_HOUR,
	pb.RateLimitResponse_RateLimit_DAY,
}

// parseUnit returns the unit with the given name, ignoring case.
func parseUnit(name string) (unit, bool) {
	u := unit(pb.RateLimitResponse_RateLimit_Unit_value[strings.ToUpper(name)])
	return u, u != pb.RateLimitResponse_RateLimit_UNKNOWN
}

// quota is the number of requests that a rule, or an override in a request, allows per unit of time.
type quota struct {
	// current describes the quota in answers. All answers share this message.
	current *pb.RateLimitResponse_RateLimit
	limit   engine.Limit
	// seconds is the length of a fixed window aligned to the clock, or 0 for other algorithms.
	seconds int64
}

// settings holds the fields of a quota.
type settings struct {
	name, algorithm            string
	perUnit, multiplier, burst uint32
	unit                       unit
	// more holds further fields of the limit, by their names in policies.
	more map[string]string
	// counter is the name of the limit's counter if the limit divides its units among keys. All keys share this
	// counter, so the key cannot be part of its name.
	counter string
}

// blocked reports whether the quota is 0, so that it denies every hit.
func (q *quota) blocked() bool { return q.current.GetRequestsPerUnit() == 0 }

// counts reports whether hits are counted as in envoyproxy/ratelimit: in a fixed window aligned to the clock,
// including denied hits.
func (q *quota) counts() bool { return q.seconds > 0 }

// longestSeconds is the longest window of a limit: 100 years of 365.25 days.
const longestSeconds = 36_525 * 86_400

// build builds the quota. The multiplier must be at least 1.
func (s *settings) build() (quota, error) {
	seconds := unitSeconds[s.unit] * int64(s.multiplier)
	if seconds > longestSeconds {
		return quota{}, fmt.Errorf("rate limit of %d %ss is longer than 100 years; accepted: a unit_multiplier up to %d",
			s.multiplier, strings.ToLower(s.unit.String()), longestSeconds/unitSeconds[s.unit])
	}
	q := quota{current: &pb.RateLimitResponse_RateLimit{RequestsPerUnit: s.perUnit, Unit: s.unit, Name: s.name}}
	if s.multiplier > 1 {
		q.current.UnitMultiplier = wrapperspb.UInt32(s.multiplier)
	}
	if s.algorithm == "" || s.algorithm == algo.FixedWindow.String() {
		q.seconds = seconds
	}
	var err error
	q.limit, err = s.limit(time.Duration(seconds) * time.Second)
	return q, err
}

// limit builds the limit. For a count of 0 it builds a limit of 1 whose answers never allow a hit. Hits are still
// counted, because the answer to a request with 0 hits depends on them.
func (s *settings) limit(period time.Duration) (engine.Limit, error) {
	a := algo.FixedWindow
	if s.algorithm != "" {
		found, ok := engine.ParseAlgorithm(s.algorithm)
		if !ok || !slices.Contains(rateAlgorithms, found) {
			return engine.Limit{}, fmt.Errorf("invalid algorithm '%s'; accepted: %s", s.algorithm, acceptedAlgorithms())
		}
		a = found
	}
	var options []engine.Setting
	if a.Has("align") {
		options = append(options, engine.Setting{Field: "align", Word: "clock"})
	}
	if s.burst > 0 {
		if !a.Has("burst") {
			return engine.Limit{}, fmt.Errorf("burst is %d with algorithm %s; accepted: burst with an algorithm that refills, such as token-bucket", s.burst, a)
		}
		options = append(options, engine.Setting{Field: "burst", Units: int64(s.burst)})
	}
	more, err := s.settings(a)
	if err != nil {
		return engine.Limit{}, err
	}
	options = append(options, more...)
	limit := engine.Build(a, []engine.Rate{engine.Per(max(1, int64(s.perUnit)), period)}, options...)
	if err := limit.Err(); err != nil {
		return engine.Limit{}, fmt.Errorf("invalid rate limit: %s", plain(err))
	}
	return limit, nil
}

// settings converts the fields in more to settings of a limit with the given algorithm. It returns an error for a field
// that the algorithm does not have.
func (s *settings) settings(a algo.Algorithm) (all []engine.Setting, err error) {
	for _, field := range slices.Sorted(maps.Keys(s.more)) {
		if !a.Has(field) {
			return nil, fmt.Errorf("%s is %s with algorithm %s; accepted: no such field", field, s.more[field], a)
		}
		set, err := engine.ParseSetting(field, s.more[field])
		if err != nil {
			return nil, fmt.Errorf("invalid rate limit: %s", plain(err))
		}
		all = append(all, set)
	}
	if a.Divides() {
		all = append(all, engine.Setting{Field: "name", Word: s.counter})
	}
	return all, nil
}

// plain returns the text of an error without the package name.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "headgate: ") }

// rateAlgorithms lists the algorithms that a rule can name. The other algorithms cannot be used here. A pacer delays
// requests, which Envoy cannot do. A concurrency limit needs a release. A penalty counts the denials of other
// limits of its request, and each rule is a single limit with its own answer.
var rateAlgorithms = slices.DeleteFunc(algo.Algorithms(), func(a algo.Algorithm) bool {
	return a.Paces() || a.Holds() || a.Punishes() || a.Constant()
})

func acceptedAlgorithms() string {
	names := make([]string, len(rateAlgorithms))
	for i, a := range rateAlgorithms {
		names[i] = a.String()
	}
	return strings.Join(names, ", ") + "; gcra, leaky-bucket and funnel are the token bucket"
}

// near returns the number of hits above which further hits count as near the limit: the quota times ratio, rounded
// down.
func (q *quota) near(ratio float32) uint64 {
	return uint64(math.Floor(float64(float32(q.current.GetRequestsPerUnit()) * ratio)))
}

// String returns text such as "10 per minute" for the output of headgate check. An algorithm other than the fixed
// window follows in parentheses.
func (q *quota) String() string {
	c := q.current
	text := strconv.FormatUint(uint64(c.RequestsPerUnit), 10) + " per "
	if m := c.GetUnitMultiplier().GetValue(); m > 1 {
		text += strconv.FormatUint(uint64(m), 10) + " "
	}
	text += strings.ToLower(c.Unit.String())
	if !q.counts() {
		text += " (" + q.limit.Algorithm().String()
		if q.limit.Algorithm().Has("burst") {
			text += " burst " + strconv.FormatInt(q.limit.Numbers().Burst, 10)
		}
		text += ")"
	}
	return text
}

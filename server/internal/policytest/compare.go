package policytest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
)

// Words that a test can use instead of a number, a duration or a name.
const (
	unlimited = "unlimited"
	never     = "never"
	none      = "none"
)

// mismatch is a field of a step's answer that differs from the expectation.
type mismatch struct{ field, expected, got string }

type stepAnswer struct {
	decide.Response
	route  int // -1 if there is no route
	key    string
	status int // status of a denied HTTP request
	// denies states for each policy with a shadow whether the shadow would have denied the request.
	denies map[string]bool
}

// answerOf returns the answer to a step, with a copy of its key, because the batch reuses the memory of keys.
func answerOf(r *decide.Request, response *decide.Response, shadows []decide.Shadow) stepAnswer {
	a := stepAnswer{Response: *response, route: -1, key: r.Key, denies: map[string]bool{}}
	for i := range shadows {
		name := shadows[i].Owner.Name
		a.denies[name] = a.denies[name] || shadows[i].Denied
	}
	if r.Route == nil {
		return a
	}
	if a.route = r.Route.Index; r.Items != nil {
		a.key = strings.Clone(response.Key)
	}
	if a.status = http.StatusTooManyRequests; r.Route.NoKey != nil {
		a.status = r.Route.NoKey.Status
	}
	return a
}

// verdict returns allowed, denied or error.
func (a *stepAnswer) verdict() string {
	switch {
	case a.Err != nil:
		return "error"
	case a.Allowed:
		return "allowed"
	default:
		return "denied"
	}
}

// verdictMismatch compares the verdict with the expected one. It returns nil if they agree. An error is a mismatch if
// the step does not expect it.
func (a *stepAnswer) verdictMismatch(s *Step) *mismatch {
	got, expected := a.verdict(), "no error"
	switch {
	case s.Expect != nil:
		expected = *s.Expect
	case s.Error != nil:
		expected = "error"
	case a.Err == nil:
		return nil
	}
	if got == expected {
		return nil
	}
	if a.Err != nil {
		got = "error: " + a.Err.Error()
	}
	return &mismatch{"expect", expected, got}
}

// mismatches compares an answer with a step's expectations. If the verdict differs, it returns only this mismatch,
// because the numbers differ as a consequence.
func (a *stepAnswer) mismatches(s *Step) (all []mismatch) {
	if wrong := a.verdictMismatch(s); wrong != nil {
		return []mismatch{*wrong}
	}
	compare := func(field string, expected *string, got string) {
		if expected != nil && *expected != got {
			all = append(all, mismatch{field, *expected, got})
		}
	}
	if a.Err != nil {
		if s.Error != nil && !strings.Contains(a.Err.Error(), *s.Error) {
			all = append(all, mismatch{"error", *s.Error, a.Err.Error()})
		}
		return all
	}
	d := a.Binds()
	compare("limit", s.Limit, units(d, d.Limit))
	compare("remaining", s.Remaining, units(d, d.Remaining))
	compareSpan := func(field string, expected *string, got time.Duration) {
		if expected != nil {
			compare(field, expected, spanAs(*expected, got))
		}
	}
	compareSpan("retry_after", s.RetryAfter, d.RetryAfter)
	compareSpan("reset_after", s.ResetAfter, d.ResetAfter)
	compareSpan("delay", s.Delay, a.Delay)
	if s.Request != nil {
		compare("policy", s.Policy, cmp.Or(a.Policy, none))
		compare("key", s.Key, cmp.Or(a.key, none))
		compare("route", s.Route, a.routeText())
	}
	if s.Status != nil {
		expected := strconv.FormatInt(*s.Status, 10)
		compare("status", &expected, a.statusText())
	}
	if s.Found != nil {
		expected := strconv.FormatBool(*s.Found)
		compare("found", &expected, strconv.FormatBool(a.Found))
	}
	return append(all, a.shadowMismatches(s)...)
}

func (a *stepAnswer) shadowMismatches(s *Step) (all []mismatch) {
	for _, name := range slices.Sorted(maps.Keys(s.Shadows)) {
		got := none
		if denies, ok := a.denies[name]; ok {
			got = map[bool]string{false: "allowed", true: "denied"}[denies]
		}
		if got != s.Shadows[name] {
			all = append(all, mismatch{"shadows", name + " " + s.Shadows[name], name + " " + got})
		}
	}
	return all
}

func (a *stepAnswer) routeText() string {
	if a.route < 0 {
		return none
	}
	return strconv.Itoa(a.route)
}

func (a *stepAnswer) statusText() string {
	if a.Allowed {
		return none
	}
	return strconv.Itoa(a.status)
}

// units formats a number of units. It returns "unlimited" if no limit applies.
func units(d *engine.Standing, n int64) string {
	if d.Unlimited {
		return unlimited
	}
	return strconv.FormatInt(n, 10)
}

// spanAs formats a duration in whole milliseconds, rounded up like in the front ends. If expected is the same
// duration, it returns expected.
func spanAs(expected string, got time.Duration) string {
	if got == engine.Never {
		return never
	}
	rounded := time.Duration(format.Millis(got)) * time.Millisecond
	if want, ok := span(expected); ok && time.Duration(format.Millis(want))*time.Millisecond == rounded {
		return expected
	}
	return rounded.String()
}

package policytest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/yamlfile"
)

// Upper bounds of a step's times field, and of the time since the start of its test.
const (
	maxTimes = 1_000_000
	maxAfter = 100 * 365 * 24 * time.Hour
)

// Accepted values of the do and expect fields.
var (
	verdicts = []string{"allowed", "denied", "error"}
	// classless lists the verbs that ignore classes.
	classless = []string{"give", "reset", "release"}
)

// begin is the start time of tests that do not set one.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// file checks all fields of a test file, and parses the tests' start times.
func (c *checker) file(text *content) {
	if text.Policies == nil {
		c.invalid("missing; accepted: the path of a policies file", "policies")
	}
	if len(text.Tests) == 0 {
		c.invalid("missing; accepted: a list of tests", "tests")
	}
	for i := range text.Tests {
		test, at := &text.Tests[i], []string{"tests", strconv.Itoa(i)}
		if test.Name == nil {
			c.invalid("name missing; accepted: a text", at...)
		}
		test.begin = begin
		if test.Start != nil {
			start, err := time.Parse(time.RFC3339, *test.Start)
			if err != nil {
				c.invalid("start is "+engine.Quote(*test.Start)+"; accepted: a time such as 2026-01-01T00:00:00Z", append(at, "start")...)
			}
			test.begin = start
		}
		if len(test.Steps) == 0 {
			c.invalid("steps missing; accepted: a list of steps", at...)
		}
		last := time.Duration(0)
		for j := range test.Steps {
			s := stepChecker{c, &test.Steps[j], append(slices.Clone(at), "steps", strconv.Itoa(j))}
			s.check(last)
			last = s.step.after
		}
	}
}

type stepChecker struct {
	*checker
	step *Step
	at   []string
}

// field reports a value that the field does not accept.
func (c *stepChecker) field(name, value, accepted string) {
	c.invalid(name+" is "+value+"; accepted: "+accepted, append(slices.Clone(c.at), name)...)
}

func (c *stepChecker) check(last time.Duration) {
	c.when(last)
	c.words()
	switch s := c.step; {
	case s.Request != nil:
		c.request()
	case s.Policy == nil || s.Key == nil:
		c.invalid("accepted: request, or policy and key", c.at...)
	default:
		c.only("request", map[string]bool{
			"host": s.Host != nil, "client": s.Client != nil, "headers": s.Headers != nil, "body_size": s.BodySize != nil,
			"route": s.Route != nil, "status": s.Status != nil,
		})
	}
	if s := c.step; s.Do != nil && s.Expect != nil && (*s.Do == "reset" || *s.Do == "release") {
		c.field("expect", engine.Quote(*s.Expect), "found: true or false in its place, for "+*s.Do)
	}
	if s := c.step; s.Class != nil && s.Do != nil && slices.Contains(classless, *s.Do) {
		c.field("class", engine.Quote(*s.Class), "none with do: "+*s.Do+", which is the same for every class")
	}
}

// only reports the fields in set that are true as errors, because they are accepted only together with the field other.
func (c *stepChecker) only(other string, set map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if set[name] {
			c.invalid(name+" is set; accepted: only together with "+other, append(slices.Clone(c.at), name)...)
		}
	}
}

// when parses and checks the time of a step. It must not be before last, the time of the step above.
func (c *stepChecker) when(last time.Duration) {
	c.step.after = last
	if c.step.At != nil {
		at, ok := span(*c.step.At)
		if !ok || at < last || at > maxAfter {
			c.field("at", engine.Quote(*c.step.At), "a duration since the test's start, such as 1m30s, not before the step above")
			return
		}
		c.step.after = at
	}
	if n := c.step.Times; n != nil && (*n < 1 || *n > maxTimes) {
		c.field("times", strconv.FormatInt(*n, 10), "1 to "+strconv.Itoa(maxTimes))
	}
}

// words checks the fields with a fixed set of accepted values.
func (c *stepChecker) words() {
	s := c.step
	c.oneOf("do", s.Do, verbs())
	c.oneOf("expect", s.Expect, verdicts)
	for _, name := range slices.Sorted(maps.Keys(s.Shadows)) {
		if v := s.Shadows[name]; v != "allowed" && v != "denied" {
			c.invalid(name+" is "+engine.Quote(v)+"; accepted: allowed, denied", append(slices.Clone(c.at), "shadows", name)...)
		}
	}
	for name, value := range map[string]*string{"retry_after": s.RetryAfter, "reset_after": s.ResetAfter, "delay": s.Delay} {
		if value == nil || name == "retry_after" && *value == never {
			continue
		}
		if _, ok := span(*value); !ok {
			accepted := "a duration such as 1m30s"
			if name == "retry_after" {
				accepted += ", or never"
			}
			c.field(name, engine.Quote(*value), accepted)
		}
	}
	for name, value := range map[string]*string{"limit": s.Limit, "remaining": s.Remaining} {
		if value == nil || *value == unlimited {
			continue
		}
		if n, err := strconv.ParseInt(*value, 10, 64); err != nil || n < 0 {
			c.field(name, engine.Quote(*value), "a number of units, or unlimited")
		}
	}
	if s.Status != nil && (*s.Status < 400 || *s.Status > 499) {
		c.field("status", strconv.FormatInt(*s.Status, 10), "400 to 499, for a denied request")
	}
}

// oneOf reports a value that is not accepted, and suggests the nearest accepted value.
func (c *stepChecker) oneOf(name string, value *string, accepted []string) {
	if value != nil && !slices.Contains(accepted, *value) {
		c.invalid(name+" is "+engine.Quote(*value)+"; "+yamlfile.DidYouMean(*value, accepted)+"accepted: "+strings.Join(accepted, ", "), append(slices.Clone(c.at), name)...)
	}
}

// request reads the HTTP request of a step. In such a step, policy and key are expectations.
func (c *stepChecker) request() {
	s := c.step
	c.only("policy and key", map[string]bool{"do": s.Do != nil, "cost": s.Cost != nil, "class": s.Class != nil, "found": s.Found != nil})
	h := HTTPRequest{Text: *s.Request, Client: "127.0.0.1", Header: http.Header{}}
	if s.Client != nil {
		h.Client = *s.Client
	}
	if s.Host != nil {
		h.Host = *s.Host
	}
	if s.BodySize != nil {
		h.BodySize = *s.BodySize
	}
	for name, value := range s.Headers {
		h.Header.Add(name, value)
	}
	seen, err := h.Read()
	if input, ok := errors.AsType[*engine.InputError](err); ok {
		c.field(input.Field, input.Value, input.Accepted)
	}
	s.http = &seen
}

// span parses a duration of 0 or more. It returns false for any other text.
func span(text string) (time.Duration, bool) {
	if text == "0" {
		return 0, true
	}
	d, err := engine.ParseSpan(text)
	return d, err == nil
}

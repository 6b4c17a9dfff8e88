package httpclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headgate/headgate/httplimit/wire"
)

// advice is the state of one limit as reported by one response.
type advice struct {
	name      string
	remaining int64
	reset     time.Duration // from now
	quota     int64         // 0 if the response states none
}

// Bounds on the headers. Anything beyond them is ignored.
const (
	// maxLimits is the maximum number of limits read from one response. Only the first ones are read.
	maxLimits = 8
	// maxHeader is the maximum length of a header. Longer ones are ignored.
	maxHeader = 4096
	// maxReset is the longest time until a reset that the client respects. If the server announces a longer time, the
	// client sends a request after maxReset.
	maxReset = time.Hour
)

// read returns the limits in a response's headers. If the headers come in several forms, it uses the newest. It
// ignores malformed headers, and limits that count units other than requests. If the response is a denial, a limit
// without a remaining number has none left.
func read(h http.Header, now time.Time, denied bool) []advice {
	p := parser{header: h, now: now, denied: denied}
	if limits := p.draft(); len(limits) > 0 {
		return limits
	}
	for _, prefix := range [...]string{"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"} {
		if a, ok := p.three(prefix); ok {
			return []advice{a}
		}
	}
	return nil
}

// parser parses the headers of one response.
type parser struct {
	header http.Header
	now    time.Time
	denied bool
}

// remaining parses a remaining number.
func (p *parser) remaining(text string) (n int64, ok bool) {
	if text == "" && p.denied {
		return 0, true
	}
	return integer(text)
}

// reset parses the time of a reset, and returns the wait until then.
func (p *parser) reset(text string) (wait time.Duration, ok bool) {
	wait, ok = wire.ReadWait(text, p.header, p.now)
	return min(maxReset, wait), ok
}

// draft reads RateLimit as a List of items ("name";r=50;t=30) or, as in drafts before 08, as a Dictionary
// (limit=100, remaining=50, reset=30).
func (p *parser) draft() []advice {
	text := joined(p.header, "Ratelimit")
	if text == "" {
		return nil
	}
	items, err := httpsfv.UnmarshalList([]string{text})
	if err != nil {
		return p.dictionary(text)
	}
	var limits []advice
	for _, member := range items[:min(len(items), maxLimits)] {
		name, params := limitOf(member)
		remaining, hasRemaining := p.remaining(parameter(params, "r"))
		until := parameter(params, "t")
		reset, hasReset := p.reset(until)
		if name == "" || !hasRemaining || !hasReset && until != "" {
			continue
		}
		limits = append(limits, advice{name: name, remaining: remaining, reset: reset})
	}
	return withPolicies(limits, joined(p.header, "Ratelimit-Policy"))
}

// limitOf returns the name of a limit and its parameters. The name is "" if the member is not a String or Token.
func limitOf(member httpsfv.Member) (name string, params *httpsfv.Params) {
	item, ok := member.(httpsfv.Item)
	if !ok {
		return "", httpsfv.NewParams()
	}
	return textOf(item.Value), item.Params
}

// textOf returns the text of a String or Token. It returns "" for other values.
func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case httpsfv.Token:
		return string(v)
	default:
		return ""
	}
}

// parameter returns a parameter as text, in the form that the other headers use. It returns "" if it is missing.
func parameter(params *httpsfv.Params, name string) string {
	value, _ := params.Get(name)
	return number(value)
}

// number returns a number or Date of a structured field as the text of a number.
func number(value any) string {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return strconv.FormatInt(v.Unix(), 10)
	default:
		return textOf(value)
	}
}

// withPolicies adds the quotas from RateLimit-Policy, and drops limits that do not count requests.
func withPolicies(limits []advice, text string) []advice {
	policies, err := httpsfv.UnmarshalList([]string{text})
	if err != nil {
		return limits
	}
	kept := limits[:0]
	for _, l := range limits {
		counts := true
		for _, p := range policies[:min(len(policies), maxLimits)] {
			name, params := limitOf(p)
			if name != l.name {
				continue
			}
			if value, ok := params.Get("qu"); ok && textOf(value) != "requests" {
				counts = false
			}
			if quota, ok := integer(parameter(params, "q")); ok && quota > 0 {
				l.quota = quota
			}
		}
		if counts {
			kept = append(kept, l)
		}
	}
	return kept
}

// dictionary reads RateLimit as a Dictionary.
func (p *parser) dictionary(text string) []advice {
	fields, err := httpsfv.UnmarshalDictionary([]string{text})
	if err != nil {
		return nil
	}
	field := func(name string) string {
		member, _ := fields.Get(name)
		item, _ := member.(httpsfv.Item)
		return number(item.Value)
	}
	if a, ok := p.fields(field("limit"), field("remaining"), field("reset")); ok {
		return []advice{a}
	}
	return nil
}

// three reads the headers Remaining, Reset and optionally Limit with the given prefix, as used by older drafts and many
// services.
func (p *parser) three(prefix string) (a advice, ok bool) {
	return p.fields(p.header.Get(prefix+"Limit"), p.header.Get(prefix+"Remaining"), p.header.Get(prefix+"Reset"))
}

// fields parses the three fields of a limit without a name. The quota is optional.
func (p *parser) fields(limit, remaining, reset string) (a advice, ok bool) {
	left, hasLeft := p.remaining(remaining)
	wait, hasReset := p.reset(reset)
	if !hasLeft || !hasReset {
		return advice{}, false
	}
	quota, _ := integer(limit)
	return advice{name: "default", remaining: left, reset: wait, quota: quota}, true
}

// retryAfter reads Retry-After, as the wait from now.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	wait, ok = wire.ReadRetryAfter(h, now)
	return min(maxReset, wait), ok
}

// integer parses a non-negative number of at most 15 digits, and drops its fraction.
func integer(text string) (int64, bool) {
	text, part, dotted := strings.Cut(strings.TrimSpace(text), ".")
	if len(text) > 15 || dotted && strings.Trim(part+"0", "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil
}

// joined returns all values of a header, joined into one. It returns "" if they are too long.
func joined(h http.Header, name string) string {
	lines := h[name]
	if len(lines) == 1 && len(lines[0]) <= maxHeader {
		return lines[0]
	}
	text := strings.Join(lines[:min(len(lines), maxLimits)], ", ")
	if len(text) > maxHeader {
		return ""
	}
	return text
}

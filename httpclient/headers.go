package httpclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/headgate/headgate/httplimit"
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
// ignores malformed headers, and limits that count units other than requests.
func read(h http.Header, now time.Time) []advice {
	if limits := readDraft(h); len(limits) > 0 {
		return limits
	}
	for _, prefix := range [...]string{"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"} {
		if a, ok := readThree(h, prefix, now); ok {
			return []advice{a}
		}
	}
	return nil
}

// readDraft reads RateLimit as a List of items ("name";r=50;t=30) or, as in drafts before 08, as a Dictionary
// (limit=100, remaining=50, reset=30).
func readDraft(h http.Header) []advice {
	text := joined(h, "Ratelimit")
	if text == "" {
		return nil
	}
	items, err := httpsfv.UnmarshalList([]string{text})
	if err != nil {
		return readDictionary(text)
	}
	var limits []advice
	for _, member := range items[:min(len(items), maxLimits)] {
		name, params := limitOf(member)
		remaining, hasRemaining := integerOf(params, "r")
		reset, hasReset := integerOf(params, "t")
		if name == "" || !hasRemaining || remaining < 0 || hasReset && reset < 0 {
			continue
		}
		limits = append(limits, advice{name: name, remaining: remaining, reset: seconds(reset)})
	}
	return withPolicies(limits, joined(h, "Ratelimit-Policy"))
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

func integerOf(params *httpsfv.Params, name string) (n int64, ok bool) {
	value, _ := params.Get(name)
	n, ok = value.(int64)
	return n, ok
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
			if quota, ok := integerOf(params, "q"); ok && quota > 0 {
				l.quota = quota
			}
		}
		if counts {
			kept = append(kept, l)
		}
	}
	return kept
}

func readDictionary(text string) []advice {
	fields, err := httpsfv.UnmarshalDictionary([]string{text})
	if err != nil {
		return nil
	}
	field := func(name string) (n int64, ok bool) {
		member, _ := fields.Get(name)
		item, _ := member.(httpsfv.Item)
		n, ok = item.Value.(int64)
		return n, ok && n >= 0
	}
	remaining, ok := field("remaining")
	reset, hasReset := field("reset")
	if !ok || !hasReset {
		return nil
	}
	quota, _ := field("limit")
	return []advice{{name: "default", remaining: remaining, reset: seconds(reset), quota: max(0, quota)}}
}

// readThree reads the headers Remaining, Reset and optionally Limit with the given prefix, as used by older drafts
// and many services. Reset is the number of seconds from now, or a Unix time in seconds or milliseconds.
func readThree(h http.Header, prefix string, now time.Time) (a advice, ok bool) {
	remaining, ok := integer(h.Get(prefix + "Remaining"))
	reset, hasReset := integer(h.Get(prefix + "Reset"))
	if !ok || !hasReset {
		return advice{}, false
	}
	wait := seconds(reset)
	switch sent := serverTime(h, now); {
	case reset > 1e11:
		wait = min(maxReset, time.UnixMilli(reset).Sub(sent))
	case reset > 1e8: // three years
		wait = min(maxReset, time.Unix(reset, 0).Sub(sent))
	}
	quota, _ := integer(h.Get(prefix + "Limit"))
	return advice{name: "default", remaining: remaining, reset: max(0, wait), quota: quota}, true
}

// retryAfter reads Retry-After: seconds from now, or a date.
func retryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	wait, ok = httplimit.ReadRetryAfter(h, now)
	return min(maxReset, wait), ok
}

// serverTime returns the time of the response on the server's clock, because the instants in its headers refer to that
// clock. If there is no Date header, it returns now.
func serverTime(h http.Header, now time.Time) time.Time {
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		return sent
	}
	return now
}

// seconds returns n seconds, at most maxReset.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, int64(maxReset/time.Second))) * time.Second
}

// integer parses a non-negative number of at most 15 digits.
func integer(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if len(text) == 0 || len(text) > 15 {
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

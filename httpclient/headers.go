package httpclient

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// advice is what one answer says about one limit.
type advice struct {
	name      string
	remaining int64
	reset     time.Duration // from now
	quota     int64         // 0 if not said
}

// The bounds of what is read. Everything beyond is ignored.
const (
	// maxLimits is how many limits of one answer are read, the first ones.
	maxLimits = 8
	// maxHeader is the length of the longest header that is read.
	maxHeader = 4096
	// maxReset is the longest time until a reset that is believed. After it, a server
	// that said more is asked again.
	maxReset = time.Hour
)

// read returns the limits that an answer tells, in the newest form that it has. Malformed
// headers are ignored, and so are limits of other units than requests.
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

// readDraft reads RateLimit as a list of items ("name";r=50;t=30) or, as drafts before 08
// had it, as a dictionary (limit=100, remaining=50, reset=30).
func readDraft(h http.Header) []advice {
	text := joined(h, "Ratelimit")
	if text == "" {
		return nil
	}
	items, ok := parseList(text)
	if !ok {
		return readDictionary(text)
	}
	var limits []advice
	for _, item := range items {
		remaining, hasRemaining := item.integer("r")
		reset, hasReset := item.integer("t")
		if !hasRemaining || remaining < 0 || hasReset && reset < 0 {
			continue
		}
		limits = append(limits, advice{name: item.value, remaining: remaining, reset: seconds(reset)})
	}
	return withPolicies(limits, joined(h, "Ratelimit-Policy"))
}

// withPolicies adds the quotas of RateLimit-Policy, and leaves out limits whose unit is
// not requests.
func withPolicies(limits []advice, text string) []advice {
	policies, ok := parseList(text)
	if !ok {
		return limits
	}
	kept := limits[:0]
	for _, l := range limits {
		counts := true
		for _, p := range policies {
			if p.value != l.name {
				continue
			}
			if unit := p.params["qu"]; unit != "" && unit != "requests" {
				counts = false
			}
			if quota, ok := p.integer("q"); ok && quota > 0 {
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
	fields := map[string]string{}
	for member := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(member, "=")
		fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	remaining, ok := integer(fields["remaining"])
	reset, hasReset := integer(fields["reset"])
	if !ok || !hasReset {
		return nil
	}
	quota, _ := integer(fields["limit"])
	return []advice{{name: "default", remaining: remaining, reset: seconds(reset), quota: quota}}
}

// readThree reads the three headers of older drafts and of many services. Reset is seconds
// from now, or an instant in seconds or milliseconds since 1970.
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
	text := h.Get("Retry-After")
	if n, ok := integer(text); ok {
		return seconds(n), true
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(maxReset, max(0, at.Sub(serverTime(h, now)))), true
	}
	return 0, false
}

// serverTime returns when the server sent an answer, by its own clock: that is the clock of the
// instants in its headers. Without a Date it is now.
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

// integer reads a number that is not negative and has at most 15 digits.
func integer(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if len(text) == 0 || len(text) > 15 {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err == nil
}

// joined returns all lines of a header as one, or "" if they are too long.
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

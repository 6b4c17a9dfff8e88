package httpclient

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// fields returns response headers with the given pairs of names and values.
func fields(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// read supports every form of the headers and prefers the newest. It ignores malformed headers.
func TestReadHeaders(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"draft":              {[]string{"RateLimit", `"burst";r=50;t=30`, "RateLimit-Policy", `"burst";q=100;w=60`}, "[{burst 50 30s 100}]"},
		"two limits":         {[]string{"RateLimit", `"a";r=5;t=1, "b";r=7;t=9`, "RateLimit-Policy", `"b";q=70,"a";q=10;w=1;pk=:cHM=:`}, "[{a 5 1s 10} {b 7 9s 70}]"},
		"two lines":          {[]string{"RateLimit", `"a";r=5;t=1`, "RateLimit", `"b";r=7;t=9`}, "[{a 5 1s 0} {b 7 9s 0}]"},
		"no reset":           {[]string{"RateLimit", `"a";r=5`}, "[{a 5 0s 0}]"},
		"a token as name":    {[]string{"RateLimit", `default;r=5;t=1;partial`}, "[{default 5 1s 0}]"},
		"quotes in a name":   {[]string{"RateLimit", `"a\"b\\";r=5;t=1`}, `[{a"b\ 5 1s 0}]`},
		"another unit":       {[]string{"RateLimit", `"bytes";r=5;t=1, "n";r=6;t=1`, "RateLimit-Policy", `"bytes";q=9;qu="content-bytes", "n";q=9;qu="requests"`}, "[{n 6 1s 9}]"},
		"draft 07":           {[]string{"RateLimit", "limit=100, remaining=50, reset=30"}, "[{default 50 30s 100}]"},
		"draft 03":           {[]string{"RateLimit-Limit", "100", "RateLimit-Remaining", "50", "RateLimit-Reset", "30"}, "[{default 50 30s 100}]"},
		"x":                  {[]string{"X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "30"}, "[{default 50 30s 0}]"},
		"x, seconds of 1970": {[]string{"X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "1800000030"}, "[{default 50 30s 0}]"},
		"x, milliseconds":    {[]string{"X-Rate-Limit-Remaining", "50", "X-Rate-Limit-Reset", "1800000030500"}, "[{default 50 30.5s 0}]"},
		"x, in the past":     {[]string{"X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "1700000000"}, "[{default 50 0s 0}]"},
		"x, remaining 0.0":   {[]string{"X-RateLimit-Limit", "10.0", "X-RateLimit-Remaining", "0.0", "X-RateLimit-Reset", "1.5"}, "[{default 0 1.5s 10}]"},
		"x, ISO":             {[]string{"X-RateLimit-Remaining", "1.9", "X-RateLimit-Reset", "2027-01-15T08:00:30.25Z"}, "[{default 1 30.25s 0}]"},
		"x, a date":          {[]string{"X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "Fri, 15 Jan 2027 08:00:30 GMT"}, "[{default 1 30s 0}]"},
		"an instant":         {[]string{"RateLimit", `"a";r=5;t=1800000030`}, "[{a 5 30s 0}]"},
		"a Date":             {[]string{"RateLimit", `"a";r=5;t=@1800000030`}, "[{a 5 30s 0}]"},
		"fractions":          {[]string{"RateLimit", `"a";r=5.9;t=1.25`, "RateLimit-Policy", `"a";q=10.0`}, "[{a 5 1.25s 10}]"},
		"draft 07, fraction": {[]string{"RateLimit", "limit=10.0, remaining=0.0, reset=1.5"}, "[{default 0 1.5s 10}]"},
		"draft 07, instant":  {[]string{"RateLimit", "remaining=1, reset=1800000030"}, "[{default 1 30s 0}]"},
		"draft 03, instant":  {[]string{"RateLimit-Remaining", "1", "RateLimit-Reset", "1800000030"}, "[{default 1 30s 0}]"},
		"too far":            {[]string{"RateLimit", `"a";r=5;t=999999999999999`}, "[{a 5 1h0m0s 0}]"},
		"malformed, older":   {[]string{"RateLimit", `"a;r=5`, "X-RateLimit-Remaining", "50", "X-RateLimit-Reset", "30"}, "[{default 50 30s 0}]"},
		"negative":           {[]string{"RateLimit", `"a";r=-5;t=1`}, "[]"},
		"too many digits":    {[]string{"RateLimit", `"a";r=9999999999999999;t=1`}, "[]"},
		"not a list":         {[]string{"RateLimit", `"a";r=5;t=1 "b"`}, "[]"},
		"a trailing comma":   {[]string{"RateLimit", `"a";r=5;t=1,`}, "[]"},
		"no numbers":         {[]string{"X-RateLimit-Remaining", "many", "X-RateLimit-Reset", "soon"}, "[]"},
		"remaining alone":    {[]string{"X-RateLimit-Remaining", "5"}, "[]"},
		"too long":           {[]string{"RateLimit", `"` + strings.Repeat("x", maxHeader) + `";r=5;t=1`}, "[]"},
		"nothing":            {nil, "[]"},
		"a display string":   {[]string{"RateLimit", `"a";r=5;t=1;comment=%"f%c3%bc"`}, "[{a 5 1s 0}]"},
		"a date":             {[]string{"RateLimit", `"a";r=5;t=1;since=@1659578233`}, "[{a 5 1s 0}]"},
		"ten parameters":     {[]string{"RateLimit", `"a";r=5;t=1;b;c;d;e;f;g;h;i`}, "[{a 5 1s 0}]"},
		"an inner list":      {[]string{"RateLimit", `("b" "c");r=1;t=9, "a";r=5;t=1`}, "[{a 5 1s 0}]"},
		"a repeated name":    {[]string{"RateLimit", `"a";r=7;r=5;t=1`}, "[{a 5 1s 0}]"},
		"no String":          {[]string{"RateLimit", "\"a\x01\";r=5;t=1"}, "[]"},
		"an unknown escape":  {[]string{"RateLimit", `"a\b";r=5;t=1`}, "[]"},
		"an upper-case name": {[]string{"RateLimit", `"a";R=5;r=5;t=1`}, "[]"},
		"no base64":          {[]string{"RateLimit", `"a";r=5;t=1;pk=:?:`}, "[]"},
	} {
		var texts []string
		for _, l := range read(fields(c.headers...), now, false) {
			texts = append(texts, fmt.Sprint("{", l.name, " ", l.remaining, " ", l.reset, " ", l.quota, "}"))
		}
		if got := "[" + strings.Join(texts, " ") + "]"; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if got := read(fields("RateLimit", strings.Repeat(`"a";r=1;t=1, `, 50)+`"b";r=1;t=1`), now, false); len(got) != maxLimits {
		t.Errorf("%d limits were read", len(got))
	}
}

// An instant in a header is relative to the response's Date, not to the client's clock, which can be an hour off.
func TestTimesAreTheServers(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	date := now.Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, ahead := range []time.Duration{0, 7 * time.Second} {
		at := now.Add(time.Hour + ahead)
		h := fields("Date", date, "Retry-After", at.UTC().Format(http.TimeFormat), "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", fmt.Sprint(at.Unix()))
		if wait, ok := retryAfter(h, now); wait != ahead || !ok {
			t.Errorf("Retry-After: %s, want %s", wait, ahead)
		}
		if limits := read(h, now, false); len(limits) != 1 || limits[0].reset != ahead {
			t.Errorf("reset: %+v, want %s", limits, ahead)
		}
	}
}

// Arbitrary header bytes never crash the client, and the values read from them are within bounds.
func FuzzRead(f *testing.F) {
	f.Add(`"burst";r=50;t=30`, `"burst";q=100;w=60;pk=:cHM=:`, "120")
	f.Add("limit=100, remaining=50, reset=30", "", "Sat, 01 Jan 2000 00:00:07 GMT")
	f.Add(`a;b="\`, `;;`, "-1")
	f.Fuzz(func(t *testing.T, limit, policy, retry string) {
		now := time.Unix(1_800_000_000, 0)
		h := fields("RateLimit", limit, "RateLimit-Policy", policy, "X-RateLimit-Remaining", limit, "X-RateLimit-Reset", policy, "Retry-After", retry)
		limits := read(h, now, false)
		for _, l := range limits {
			if l.remaining < 0 || l.reset < 0 || l.reset > maxReset || l.quota < 0 || len(limits) > maxLimits {
				t.Errorf("%+v", l)
			}
		}
		if wait, ok := retryAfter(h, now); wait < 0 || wait > maxReset || !ok && wait != 0 {
			t.Errorf("Retry-After %s", wait)
		}
	})
}

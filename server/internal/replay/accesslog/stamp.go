package accesslog

import (
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

const second = int64(time.Second / time.Microsecond)

const stampAccepted = "22/Nov/2026:14:05:09 +0000, 2026-11-22T14:05:09.250Z, or seconds, milliseconds, microseconds or nanoseconds since 1970"

// latest is the latest accepted time, in the year 2255. Times from 1970 until then fit into 64-bit nanoseconds.
const latest = 9_000_000_000 * second

// stamper parses times. It caches the last one, because consecutive lines often have the same time.
type stamper struct {
	text  string
	micro int64
}

// read parses a time in any of the formats in [stampAccepted], and returns µs since 1970. It returns an error for a time
// before 1970 or after latest.
func (s *stamper) read(text string) (micro int64, err error) {
	if text == s.text && text != "" {
		return s.micro, nil
	}
	micro, ok := stamp(text)
	if !ok || micro < 0 || micro > latest {
		return 0, engine.InvalidInput("time", engine.Quote(text), stampAccepted)
	}
	s.text, s.micro = text, micro
	return micro, nil
}

func stamp(text string) (micro int64, ok bool) {
	if len(text) > 40 || len(text) < 8 {
		return 0, false
	}
	var layout string
	switch {
	case text[2] == '/' && strings.Contains(text, "."):
		layout = "02/Jan/2006:15:04:05" // HAProxy writes a fraction and no zone, which means UTC
	case text[2] == '/':
		layout = "02/Jan/2006:15:04:05 -0700" // nginx's $time_local and Apache's %t
	case text[4] == '-':
		return stampISO(text)
	default:
		return stampNumber(text)
	}
	at, err := time.Parse(layout, text) // also reads a fraction after the seconds
	return at.UnixMicro(), err == nil
}

// stampISO parses ISO 8601 and RFC 3339: 2026-11-22T14:05:09.250+01:00. A time without a zone is in UTC.
func stampISO(text string) (micro int64, ok bool) {
	const length = len("2006-01-02T15:04:05")
	if len(text) < length || text[10] != 'T' && text[10] != ' ' {
		return 0, false
	}
	text = strings.TrimSuffix(text, "UTC")
	layout := "2006-01-02" + text[10:11] + "15:04:05"
	zone := strings.TrimLeft(text[length:], ".,0123456789")
	if strings.HasPrefix(zone, " ") {
		layout, zone = layout+" ", zone[1:]
	}
	switch len(zone) {
	case 0:
	case len("+01"):
		layout += "-07"
	case len("+0100"):
		layout += "-0700"
	default:
		layout += "Z07:00" // Z, or +01:00
	}
	at, err := time.Parse(layout, text)
	return at.UnixMicro(), err == nil
}

// stampNumber parses a Unix time. The number of digits before the decimal point determines the unit: up to 11 mean
// seconds, up to 14 milliseconds, up to 17 microseconds, 19 nanoseconds.
func stampNumber(t string) (micro int64, ok bool) {
	whole, part, found := strings.Cut(t, ".")
	n, ok := digits(whole[:min(len(whole), 18)])
	if !ok || found && part == "" {
		return 0, false
	}
	switch {
	case len(whole) <= 11:
		micro, ok = fraction(part)
		return n*second + micro, ok
	case found && !onlyDigits(part):
		return 0, false
	case len(whole) <= 14:
		return n * 1000, true
	case len(whole) <= 17:
		return n, true
	case len(whole) == 19 && onlyDigits(whole):
		return n / 100, true // digits has read 18 of the 19 digits
	default:
		return 0, false
	}
}

func onlyDigits(t string) bool {
	for i := range len(t) {
		if t[i]-'0' > 9 {
			return false
		}
	}
	return true
}

// fraction parses the digits after a decimal point and returns µs, rounded down.
func fraction(t string) (micro int64, ok bool) {
	for i := range 6 {
		micro *= 10
		if i < len(t) {
			micro += int64(t[i] - '0')
		}
	}
	return micro, onlyDigits(t)
}

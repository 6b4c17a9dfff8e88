package accesslog

import (
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

const second = int64(time.Second / time.Microsecond)

const stampAccepted = "22/Nov/2026:14:05:09 +0000, 2026-11-22T14:05:09.250Z, Sun Nov 22 14:05:09 2026, or seconds, milliseconds, microseconds or nanoseconds since 1970"

// latest is the latest accepted time, in the year 2255. Times from 1970 until then fit into 64-bit nanoseconds.
const latest = 9_000_000_000 * second

// stamper parses times. It caches the last one, because consecutive lines often have the same time.
type stamper struct {
	text  string
	micro int64
}

// read parses a time in any of the formats in this file, and returns µs since 1970. It returns an error for a time
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
	switch {
	case len(text) > 40 || len(text) < 8:
		return 0, false
	case text[2] == '/':
		return stampLocal(text)
	case text[3] == ' ':
		return stampC(text)
	case text[4] == '-':
		return stampISO(text)
	default:
		return stampNumber(text)
	}
}

const months = "JanFebMarAprMayJunJulAugSepOctNovDec"

// stampLocal parses nginx's $time_local and Apache's %t, 22/Nov/2026:14:05:09 +0000, and HAProxy's
// 22/Nov/2026:14:05:09.250.
func stampLocal(t string) (micro int64, ok bool) {
	if len(t) < 24 || t[6] != '/' || t[11] != ':' || t[14] != ':' || t[17] != ':' || t[20] != ' ' && t[20] != '.' {
		return 0, false
	}
	part, zoned := int64(0), t[20] == ' '
	if !zoned { // HAProxy writes a fraction and no zone, which means UTC
		if part, ok = fraction(t[21:]); !ok {
			return 0, false
		}
	} else if len(t) != 26 {
		return 0, false
	}
	month := strings.Index(months, t[3:6])
	if month < 0 || month%3 != 0 {
		return 0, false
	}
	zone := int64(0)
	if zoned {
		if zone, ok = offset(t[21:]); !ok {
			return 0, false
		}
	}
	micro, ok = instant(t[7:11], int64(month/3+1), t[:2], t[12:20], zone)
	return micro + part, ok
}

// stampC parses uWSGI's Sun Nov 22 14:05:09 2026, the time of the C function ctime. It has no zone, which means UTC.
func stampC(t string) (micro int64, ok bool) {
	at, err := time.Parse(time.ANSIC, t)
	return at.UnixMicro(), err == nil
}

// stampISO parses ISO 8601 and RFC 3339: 2026-11-22T14:05:09.250+01:00. A time without a zone is in UTC.
func stampISO(t string) (micro int64, ok bool) {
	if len(t) < 19 || t[7] != '-' || t[10] != 'T' && t[10] != ' ' || t[13] != ':' || t[16] != ':' {
		return 0, false
	}
	month, ok := digits(t[5:7])
	if !ok {
		return 0, false
	}
	rest, part := t[19:], int64(0)
	if rest != "" && (rest[0] == '.' || rest[0] == ',') {
		end := 1
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if part, ok = fraction(rest[1:end]); !ok {
			return 0, false
		}
		rest = rest[end:]
	}
	zone, ok := offset(strings.TrimPrefix(rest, " "))
	if !ok {
		return 0, false
	}
	micro, ok = instant(t[:4], month, t[8:10], t[11:19], zone)
	return micro + part, ok
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

// offset parses a time zone (Z, +0100, +01:00, +01, or nothing) and returns its offset in seconds.
func offset(t string) (seconds int64, ok bool) {
	if t == "" || t == "Z" || t == "UTC" {
		return 0, true
	}
	sign := int64(1)
	switch t[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	t = t[1:]
	if len(t) == 5 && t[2] == ':' {
		t = t[:2] + t[3:]
	}
	if len(t) == 2 {
		t += "00"
	}
	n, ok := digits(t)
	return sign * (n/100*3600 + n%100*60), ok && len(t) == 4 && n <= 1500 && n%100 < 60
}

// instant returns the time for a date and a clock time such as 14:05:09. Days that are not in the calendar are an
// error. A leap second counts as the second after it.
func instant(year string, month int64, day, clock string, zone int64) (micro int64, ok bool) {
	y, ok1 := digits(year)
	d, ok2 := digits(day)
	h, ok3 := digits(clock[:2])
	m, ok4 := digits(clock[3:5])
	s, ok5 := digits(clock[6:8])
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || clock[2] != ':' || clock[5] != ':' || month < 1 || month > 12 || h > 23 || m > 59 || s > 60 {
		return 0, false
	}
	date := time.Date(int(y), time.Month(month), int(d), 0, 0, 0, 0, time.UTC)
	if date.Day() != int(d) {
		return 0, false
	}
	return (date.Unix() + h*3600 + m*60 + s - zone) * second, true
}

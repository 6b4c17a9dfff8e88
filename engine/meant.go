package engine

import "strings"

// unitWords are the usual words for the units of a period.
var unitWords = map[string]string{
	"sec": "s", "second": "s", "min": "m", "minute": "m", "hr": "h", "hour": "h", "day": "d", "week": "w", "month": "mo", "year": "y", "yr": "y",
	"s": "s", "m": "m", "h": "h", "d": "d", "w": "w", "mo": "mo", "y": "y", "ms": "ms", "us": "us",
}

var (
	// slashed writes the usual words between a count and a period as a slash.
	slashed = strings.NewReplacer(" per ", "/", " every ", "/", " each ", "/", " an ", "/", " a ", "/", " in ", "/", "rps", "/s", "qps", "/s", "rpm", "/m", "rph", "/h")
	// plainCount removes what separates thousands.
	plainCount = strings.NewReplacer(",", "", "_", "", " ", "")
	// counted are the usual words after a count, the longer ones first.
	counted = []string{"requests", "request", "reqs", "req", "calls", "times", "r", "x"}
)

// meantRate returns the rate that a text in another usual form probably means: "100/s" for "100/sec", "10r/s", "100
// req/s", "10rps" and "10 per second". It returns "" for any other text.
func meantRate(text string) string {
	count, period, ok := strings.Cut(slashed.Replace(strings.ToLower(text)), "/")
	if !ok {
		return ""
	}
	count = plainCount.Replace(count)
	for _, word := range counted {
		if digits, ok := strings.CutSuffix(count, word); ok {
			count = digits
			break
		}
	}
	if rate, ok := readRate(count, MeantSpan(period)); ok && rate.Count > 0 {
		return rate.String()
	}
	return ""
}

// MeantSpan returns the duration that a text such as "5 minutes" or "day" probably means, or "".
func MeantSpan(text string) string {
	text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
	unit := strings.TrimLeft(text, "0123456789")
	number := text[:len(text)-len(unit)]
	short, ok := unitWords[unit]
	if !ok {
		short, ok = unitWords[strings.TrimSuffix(unit, "s")]
	}
	switch {
	case !ok:
		return ""
	case number == "":
		return "1" + short
	default:
		return number + short
	}
}

package engine

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

var errSpan = errors.New(`a whole duration with its unit, such as 100ms, 1m30s, 1d or 2w`)

// ParseSpan parses a duration in the form used by limits: Go's units, plus d (24 h) and w (7 d), alone or combined, as
// in "1d12h". ParseSpan does not accept negative numbers or numbers without a unit.
func ParseSpan(text string) (time.Duration, error) {
	total := time.Duration(0)
	for rest := text; ; {
		number := strings.TrimLeft(rest, "0123456789.")
		number = rest[:len(rest)-len(number)]
		rest = rest[len(number):]
		unit := rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzµμ"))]
		rest = rest[len(unit):]
		span, err := oneSpan(number, unit)
		if err != nil || total > readable-span {
			return 0, invalid("duration", text, errSpan.Error())
		}
		if total += span; rest == "" {
			return total, nil
		}
	}
}

// readable is the longest duration that ParseSpan accepts. It exceeds the longest duration of any limit, so that a
// duration that is too long for a limit causes the limit's own error, which states the maximum.
const readable = 2 * longest

func oneSpan(number, unit string) (time.Duration, error) {
	if number == "" || unit == "" {
		return 0, errSpan
	}
	factor := int64(1)
	switch unit {
	case "d":
		unit, factor = "h", 24
	case "w":
		unit, factor = "h", 7*24
	}
	span, err := time.ParseDuration(number + unit)
	if err != nil || int64(span) > int64(readable)/factor {
		return 0, errSpan
	}
	return time.Duration(int64(span) * factor), nil
}

// FormatSpan formats a duration in the shortest form that ParseSpan reads: 1m instead of 1m0s, and 1d instead of
// 24h0m0s.
func FormatSpan(span time.Duration) string {
	switch {
	case span > 0 && span%week == 0:
		return strconv.FormatInt(int64(span/week), 10) + "w"
	case span > 0 && span%day == 0:
		return strconv.FormatInt(int64(span/day), 10) + "d"
	}
	text := span.String()
	if strings.HasSuffix(text, "m0s") {
		text = text[:len(text)-2]
	}
	if strings.HasSuffix(text, "h0m") {
		text = text[:len(text)-2]
	}
	return text
}

// rateUnits lists the units of a rate's period, for errors.
const rateUnits = "us, ms, s, m (minutes), h, d, w, mo (months), y"

// ParseRate parses a count and a period: "100/s", "5/1m", "30/60s", "1000/1d", "1/1mo", "1/1y". The number before the
// unit is optional.
func ParseRate(text string) (Rate, error) {
	count, period, _ := strings.Cut(text, "/")
	if rate, ok := readRate(count, period); ok {
		return rate, nil
	}
	return Rate{}, invalidRate(text)
}

func invalidRate(text string) error {
	accepted := `a whole number per duration, such as "100/s" or "5/1m"`
	count, period, _ := strings.Cut(text, "/")
	_, notWhole := parseWhole(count)
	switch _, err := strconv.ParseFloat(count, 64); {
	case err == nil && strings.Contains(count, "."):
		accepted += `; less than one is written with a longer period: half a unit a second is "1/2s"`
	case notWhole == nil && period != "":
		accepted += "; units are " + rateUnits
	}
	return &InputError{Field: "rate", Value: Quote(text), Accepted: accepted, Meant: meantRate(text)}
}

// readRate reads the two parts of a rate.
func readRate(count, period string) (Rate, bool) {
	n, err := parseWhole(count)
	if err != nil || period == "" {
		return Rate{}, false
	}
	if period[0] < '0' || period[0] > '9' {
		period = "1" + period
	}
	switch period {
	case "1mo":
		return Rate{Count: n, Months: 1}, true
	case "1y":
		return Rate{Count: n, Months: 12}, true
	}
	span, err := ParseSpan(period)
	return Per(n, span), err == nil
}

// String formats the rate in the form that [ParseRate] reads: "100/s", "5/1m".
func (r Rate) String() string { return strconv.FormatInt(r.Count, 10) + "/" + formatPeriod(r) }

func formatPeriod(r Rate) string {
	switch {
	case r.Months == 1 && r.Period == 0:
		return "1mo"
	case r.Months == 12 && r.Period == 0:
		return "1y"
	case r.Months != 0 && r.Period == 0:
		return strconv.Itoa(r.Months) + "mo"
	case r.Months != 0:
		return strconv.Itoa(r.Months) + "mo and " + FormatSpan(r.Period)
	case r.Period == time.Second:
		return "s"
	default:
		return FormatSpan(r.Period)
	}
}

// parseWhole reads a whole number without a plus sign.
func parseWhole(text string) (int64, error) {
	if strings.HasPrefix(text, "+") {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(text, 10, 64)
}

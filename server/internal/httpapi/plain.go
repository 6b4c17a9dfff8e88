package httpapi

import (
	"strconv"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/decide"
)

// Most bodies contain a policy, a key and perhaps a cost, and most answers describe one limit. The functions in this
// file read and write these bodies and answers, because it is faster: in BenchmarkPlain, reading takes 0.3 µs instead
// of 4.6 µs with jsontext.Decode, and writing 0.07 µs instead of 0.7 µs with encoding/json. Those packages handle all
// other bodies and answers, and all errors.

// plainFields parses a plain body: an object with policy, key and cost, each at most once, whose strings are
// printable ASCII without escapes. ok is false for any other body.
func plainFields(data []byte) (f requestFields, ok bool) {
	p := plainReader{rest: data}
	if !p.take('{') {
		return f, false
	}
	var texts [2]string // policy and key in one allocation
	for more := true; more; more = p.take(',') {
		name, named := p.text()
		if !named || !p.take(':') {
			return f, false
		}
		switch {
		case string(name) == "policy" && f.Policy == nil:
			f.Policy = &texts[0]
		case string(name) == "key" && f.Key == nil:
			f.Key = &texts[1]
		case string(name) == "cost" && f.Cost == nil:
			if f.Cost, ok = p.units(); !ok {
				return f, false
			}
			continue
		default:
			return f, false
		}
		value, isText := p.text()
		if !isText {
			return f, false
		}
		if string(name) == "policy" {
			texts[0] = string(value)
		} else {
			texts[1] = string(value)
		}
	}
	return f, p.take('}') && len(p.rest) == 0
}

// plainReader parses the JSON in rest. Its methods remove the parsed bytes from the front of rest.
type plainReader struct{ rest []byte }

func (p *plainReader) space() {
	for len(p.rest) > 0 && (p.rest[0] == ' ' || p.rest[0] == '\n' || p.rest[0] == '\t' || p.rest[0] == '\r') {
		p.rest = p.rest[1:]
	}
}

// take reads the byte c and the white space around it.
func (p *plainReader) take(c byte) bool {
	p.space()
	if len(p.rest) == 0 || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	p.space()
	return true
}

// text reads a string of printable ASCII without escapes. ok is false for any other string.
func (p *plainReader) text() (value []byte, ok bool) {
	if len(p.rest) == 0 || p.rest[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			value, p.rest = p.rest[1:i], p.rest[i+1:]
			return value, true
		case c < ' ' || c > '~' || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// maxDigits is the maximum number of digits in a plain number. Any number with so few digits fits into an int64.
const maxDigits = 18

// units reads a whole number that is not negative. It returns false for a number with more than maxDigits digits.
func (p *plainReader) units() (*int64, bool) {
	n, digits := int64(0), 0
	for digits < len(p.rest) && digits <= maxDigits && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
		n = n*10 + int64(p.rest[digits]-'0')
		digits++
	}
	if digits == 0 || digits > maxDigits || digits > 1 && p.rest[0] == '0' {
		return nil, false
	}
	p.rest = p.rest[digits:]
	return &n, true
}

// appendDecision appends the JSON form of a plain decision. ok is false for a decision with several limits, charges, an
// adaptive rate, a charged choice of "first" or an unbounded overshoot. Policy names do not have to be escaped.
func appendDecision(b []byte, r *decide.Response) (_ []byte, ok bool) {
	d := &r.Answer
	if d.Full || r.Count() > 1 || r.Listed || adapts(r) || r.Paid != "" || d.Promise.OvershootMax == engine.Unbounded {
		return b, false
	}
	number := func(name string, n int64) { b = strconv.AppendInt(append(b, name...), n, 10) }
	b = strconv.AppendBool(append(b, `{"allowed":`...), d.Allowed)
	if r.Policy != "" {
		b = append(append(append(b, `,"policy":"`...), r.Policy...), '"')
	}
	if !d.Binds().Unlimited {
		number(`,"limit":`, d.Binds().Limit)
		number(`,"remaining":`, d.Binds().Remaining)
	}
	switch after := retryMillis(d.Allowed, d.Binds().RetryAfter).(type) {
	case nil:
	case int64:
		number(`,"retry_after_ms":`, after)
	default:
		b = append(b, `,"retry_after_ms":null`...)
	}
	number(`,"reset_after_ms":`, format.Millis(d.Binds().ResetAfter))
	number(`,"delay_ms":`, format.Millis(d.Delay))
	b = append(append(append(b, `,"mode":"`...), d.Promise.Mode.String()...), '"')
	number(`,"overshoot_max":`, d.Promise.OvershootMax)
	if stale := format.Millis(d.Promise.Stale); stale != 0 {
		number(`,"stale_ms":`, stale)
	}
	return append(b, "}\n"...), true
}

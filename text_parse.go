package headgate

import (
	"strconv"
	"strings"

	"github.com/headgate/headgate/algo"
)

// parser reads the words of a limit's text form after the algorithm.
type parser struct {
	words   []string
	rates   []Rate
	implied algo.Algorithm // by the fields, where none is named
}

// splitWords splits at spaces; a quoted word may hold any.
func splitWords(text string) ([]string, error) {
	var words []string
	for rest := strings.TrimLeft(text, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		end := strings.IndexByte(rest, ' ')
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, err
			}
			end = len(quoted)
		}
		if end < 0 {
			end = len(rest)
		}
		words = append(words, rest[:end])
		rest = rest[end:]
	}
	return words, nil
}

func (p *parser) next() string {
	if len(p.words) == 0 {
		return ""
	}
	word := p.words[0]
	p.words = p.words[1:]
	return word
}

func (p *parser) count() error {
	word := p.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return invalid("limit", word, "a whole number")
	}
	p.rates = []Rate{Per(n, defaultLease)}
	return nil
}

func (p *parser) allRates() error {
	for len(p.words) > 0 && (len(p.rates) == 0 || strings.ContainsRune("0123456789", rune(p.words[0][0]))) {
		r, err := ParseRate(p.next())
		if err != nil {
			return err
		}
		p.rates = append(p.rates, r)
	}
	if len(p.rates) == 0 {
		return invalid("rate", remark("not set"), `a rate such as "100/s"`)
	}
	return nil
}

func (p *parser) options() ([]Option, error) {
	var options []Option
	p.implied = algo.TokenBucket
	if more := p.rates[1:]; len(more) > 0 {
		p.rates = p.rates[:1]
		options = append(options, And(more...))
	}
	for len(p.words) > 0 {
		o, err := p.option(p.next())
		if err != nil {
			return nil, err
		}
		options = append(options, o)
	}
	return options, nil
}

func (p *parser) option(field string) (Option, error) {
	switch field {
	case "burst":
		return p.units(field, Burst)
	case "debt":
		return p.units(field, AllowDebt)
	case "max_queue":
		p.implied = algo.Pacer
		return p.units(field, MaxQueue)
	case "segments":
		return p.units(field, func(k int64) Option { return Segments(int(k)) })
	case "max_wait":
		p.implied = algo.Pacer
		span, err := ParseSpan(p.next())
		return MaxWait(span), err
	case "segment":
		span, err := ParseSpan(p.next())
		return SegmentLength(span), err
	case "lease":
		span, err := ParseSpan(p.next())
		return LeaseTime(span), err
	case "align":
		p.implied = algo.FixedWindow
		return Calendar(p.next()), nil
	case "weighted":
		return Weighted(), nil
	case "strict":
		return Strict(), nil
	case "lenient":
		return Lenient(), nil
	case "count_denied":
		return CountDenied(), nil
	case "name":
		return p.named()
	default:
		return nil, invalid("field", field,
			"burst, debt, max_wait, max_queue, align, segments, segment, weighted, strict, lenient, lease, count_denied, name")
	}
}

func (p *parser) named() (Option, error) {
	word := p.next()
	if name, err := strconv.Unquote(word); err == nil {
		return Named(name), nil
	}
	return Named(word), nil
}

func (p *parser) units(field string, set func(int64) Option) (Option, error) {
	word := p.next()
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil {
		return nil, invalid(field, word, "a whole number")
	}
	return set(n), nil
}

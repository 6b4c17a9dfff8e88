package httpclient

import "strings"

// item is one item of a List of RFC 9651: a String or a Token, with parameters.
type item struct {
	value  string
	params map[string]string
}

func (i *item) integer(name string) (int64, bool) { return integer(i.params[name]) }

// parseList reads a List of Strings and Tokens with parameters, as far as the rate-limit
// headers need it: values of parameters are kept as text, without quotes and colons. ok is
// false if the text is not such a list. It reads the first maxLimits items.
func parseList(text string) (items []item, ok bool) {
	p := parser{rest: text}
	for {
		p.space()
		one := item{params: map[string]string{}}
		if one.value, ok = p.value(); !ok {
			return nil, false
		}
		for p.space(); p.next(';'); p.space() {
			p.space()
			name := p.token()
			value := "?1" // a parameter without a value is true
			if p.next('=') {
				if value, ok = p.value(); !ok {
					return nil, false
				}
			}
			if name == "" || len(one.params) == maxLimits {
				return nil, false
			}
			one.params[name] = value
		}
		if len(items) < maxLimits {
			items = append(items, one)
		}
		if p.rest == "" {
			return items, true
		}
		if !p.next(',') {
			return nil, false
		}
	}
}

type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// next takes a byte if it comes next.
func (p *parser) next(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// value takes a quoted String, a Byte Sequence between colons, or a Token or number.
func (p *parser) value() (string, bool) {
	switch {
	case p.next('"'):
		return p.quoted()
	case p.next(':'):
		value, rest, closed := strings.Cut(p.rest, ":")
		p.rest = rest
		return value, closed
	default:
		value := p.token()
		return value, value != ""
	}
}

func (p *parser) quoted() (string, bool) {
	var text strings.Builder
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == '"':
			p.rest = p.rest[i+1:]
			return text.String(), true
		case c == '\\' && i+1 < len(p.rest):
			i++
			text.WriteByte(p.rest[i])
		default:
			text.WriteByte(c)
		}
	}
	return "", false
}

// token takes bytes up to the next separator.
func (p *parser) token() string {
	end := strings.IndexAny(p.rest, " \t,;=\"")
	if end < 0 {
		end = len(p.rest)
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]
	return token
}

package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

// parser reads the words of a limit's text form after the algorithm.
type parser struct {
	words   []string
	rates   []Rate
	implied algo.Algorithm // implied by a field, if the text names no algorithm
}

// splitWords splits text at spaces. A quoted word may contain spaces.
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

// isWord reports whether text in the place of a rate looks like an algorithm's name.
func isWord(text string) bool {
	return !strings.ContainsAny(text, "0123456789/")
}

func (p *parser) count() error {
	word := p.next()
	n, err := parseWhole(word)
	if err != nil {
		return invalid("limit", word, "a whole number")
	}
	p.rates = []Rate{Per(n, DefaultLease)}
	return nil
}

func (p *parser) allRates() error {
	if first := p.words; len(first) > 0 && isWord(first[0]) {
		return invalid("algorithm", first[0], `a rate such as "100/s", one of `+strings.Join(algorithmNames(), ", ")+" and then its rate, deny, or unlimited")
	}
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

func (p *parser) settings() ([]Setting, error) {
	var settings []Setting
	p.implied = unnamed
	for len(p.words) > 0 {
		s, err := p.setting(p.next())
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(settings, func(before Setting) bool { return before.Field == s.Field }) {
			return nil, invalid(s.Field, remark("set twice"), "once")
		}
		settings = append(settings, s)
	}
	return settings, nil
}

func (p *parser) setting(field string) (Setting, error) {
	if slices.Contains([]string{"weighted", "strict", "lenient"}, field) {
		return Setting{Field: "variant", Word: field}, nil
	}
	f := fieldNamed(field)
	if f == nil || field == "variant" || f.Kind == FieldRates {
		return Setting{}, invalid("field", field, fieldNames())
	}
	if a := f.Implies(); a != algo.None {
		p.implied = a
	}
	if f.Kind == FieldFlag {
		return Setting{Field: field}, nil
	}
	word := p.next()
	if unquoted, err := strconv.Unquote(word); err == nil && field == "name" {
		word = unquoted
	}
	return ParseSetting(field, word)
}

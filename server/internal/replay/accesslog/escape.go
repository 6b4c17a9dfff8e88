package accesslog

import (
	"strconv"
	"strings"
)

// unescape decodes the escapes of nginx and Apache: \xHH, \n, \t, and a backslash before any other byte, which means
// that byte.
func unescape(text string) string {
	return decode(text, '\\', func(b *strings.Builder, rest string) int {
		switch rest[0] {
		case 'x':
			if c, ok := hexByte(rest[1:]); ok {
				b.WriteByte(c)
				return 3
			}
			b.WriteString(`\x`)
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(rest[0])
		}
		return 1
	})
}

// unhash decodes HAProxy's escapes: #XX, where XX are two hexadecimal digits.
func unhash(text string) string {
	return decode(text, '#', func(b *strings.Builder, rest string) int {
		if c, ok := hexByte(rest); ok {
			b.WriteByte(c)
			return 2
		}
		b.WriteByte('#')
		return 0
	})
}

// decode replaces each escape, which begins with the byte mark. The function one writes the text of the escape whose rest
// is given, which is not empty, and returns how many bytes of the rest belong to it.
func decode(text string, mark byte, one func(b *strings.Builder, rest string) int) string {
	at := strings.IndexByte(text, mark)
	if at < 0 { // nearly always true
		return text
	}
	var b strings.Builder
	for ; at >= 0 && at+1 < len(text); at = strings.IndexByte(text, mark) {
		b.WriteString(text[:at])
		text = text[at+1:]
		text = text[one(&b, text):]
	}
	b.WriteString(text)
	return b.String()
}

// hexByte returns the byte that two hexadecimal digits at the start of a text stand for.
func hexByte(text string) (c byte, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	n, err := strconv.ParseUint(text[:2], 16, 8)
	return byte(n), err == nil
}

package accesslog

import "strings"

// unescape decodes the escapes of nginx and Apache: \xHH, \n, \t, and a backslash before any other byte, which means
// that byte.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 'x':
			if i+2 < len(text) && hex(text[i+1]) >= 0 && hex(text[i+2]) >= 0 {
				b.WriteByte(byte(hex(text[i+1])<<4 | hex(text[i+2])))
				i += 2
			} else {
				b.WriteString(`\x`)
			}
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unhash decodes HAProxy's escapes: #XX, where XX are two hexadecimal digits.
func unhash(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '#' && i+2 < len(text) && hex(text[i+1]) >= 0 && hex(text[i+2]) >= 0 {
			b.WriteByte(byte(hex(text[i+1])<<4 | hex(text[i+2])))
			i += 2
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	default:
		return -1
	}
}

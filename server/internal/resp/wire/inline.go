package wire

import "bytes"

// parseInline parses one line of words, as typed into telnet. The line ends with LF; a CR before the LF is dropped.
// Words with quotes and escapes are decoded in place, so b is changed, but only when the line is complete.
func parseInline(args [][]byte, b []byte, maxArgs int) (_ [][]byte, n int, err error) {
	end := bytes.IndexByte(b[:min(len(b), MaxInline+1)], '\n')
	if end < 0 {
		if len(b) > MaxInline {
			return args, 0, errTooBigInline
		}
		return args, 0, nil
	}
	args, err = splitLine(args, bytes.TrimSuffix(b[:end], []byte{'\r'}), maxArgs)
	return args, end + 1, err
}

// splitLine appends the words of line to args, by redis-cli's rules:
//
//	SET k v          blanks separate words
//	"a b\n\x00"      double quotes accept the escapes \n \r \t \b \a \xHH, and \c for any other c
//	'it\'s'          single quotes accept only \'
//	key"a b"         quotes may open inside a word, but end it when they close
func splitLine(args [][]byte, line []byte, maxArgs int) ([][]byte, error) {
	for i, words := 0, 0; ; words++ {
		for i < len(line) && isBlank(line[i]) {
			i++
		}
		if i == len(line) {
			return args, nil
		}
		if words == maxArgs {
			return args, errTooManyWords
		}
		word, used, err := decodeWord(line[i:])
		if err != nil {
			return args, err
		}
		args = append(args, word)
		i += used
	}
}

// decodeWord decodes the word at the front of b and returns the number of bytes consumed. It decodes in place, which
// is safe because decoding never lengthens a word.
func decodeWord(b []byte) (word []byte, n int, err error) {
	out := 0
	for n < len(b) {
		switch c := b[n]; {
		case isBlank(c):
			return b[:out:out], n, nil
		case c == '\r':
			return nil, 0, errLoneCR
		case c == '"' || c == '\'':
			size, used := decodeQuoted(b[out:], b[n:])
			n += used
			if used == 0 || n < len(b) && !isBlank(b[n]) {
				return nil, 0, errQuotes
			}
			out += size
			return b[:out:out], n, nil
		default:
			b[out] = c
			out, n = out+1, n+1
		}
	}
	return b[:out:out], n, nil
}

// decodeQuoted decodes a quoted string at the front of src, whose first byte is the quote, into dst. It returns how
// many bytes it has written and consumed, including both quotes. The second number is 0 if the string does not end.
func decodeQuoted(dst, src []byte) (size, used int) {
	quote := src[0]
	for i := 1; i < len(src); {
		if src[i] == quote {
			return size, i + 1
		}
		c, used := src[i], 1
		if c == '\\' {
			c, used = decodeEscape(src[i:], quote)
		}
		dst[size] = c
		size, i = size+1, i+used
	}
	return 0, 0
}

// decodeEscape decodes the escape at the front of b, whose first byte is a backslash. A backslash that does not start
// an escape is kept.
func decodeEscape(b []byte, quote byte) (c byte, n int) {
	switch {
	case len(b) < 2 || quote == '\'' && b[1] != '\'':
		return '\\', 1
	case b[1] == 'x' && len(b) >= 4 && isHex(b[2]) && isHex(b[3]):
		return fromHex(b[2])<<4 | fromHex(b[3]), 4
	}
	switch c := b[1]; c {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'a':
		return '\a', 2
	default:
		return c, 2
	}
}

// isBlank reports whether c separates words. In Redis a CR separates words too. However, a CR inside a line is more
// likely half of a broken line end, so it is rejected here.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// fromHex returns the value of a hexadecimal digit.
func fromHex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

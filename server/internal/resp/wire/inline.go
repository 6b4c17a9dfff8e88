package wire

import "bytes"

// parseInline parses one line of words, as typed into telnet. The line ends with LF; a CR before the LF is dropped.
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

// splitLine appends the words of line to args. Blanks separate them. Quotes are an error, because a word that contains
// blanks or other bytes can be sent in an array. So is a CR, although it separates words in Redis: inside a line it is
// more likely half of a broken line end.
func splitLine(args [][]byte, line []byte, maxArgs int) ([][]byte, error) {
	switch {
	case bytes.IndexByte(line, '"') >= 0 || bytes.IndexByte(line, '\'') >= 0:
		return args, errQuotes
	case bytes.IndexByte(line, '\r') >= 0:
		return args, errLoneCR
	}
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
		from := i
		for i < len(line) && !isBlank(line[i]) {
			i++
		}
		args = append(args, line[from:i:i])
	}
}

// isBlank reports whether c separates words.
func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\v' || c == '\f' }

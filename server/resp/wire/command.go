package wire

// parseCommand appends the words of the command at the front of b to args and
// returns how many bytes it took. n is 0 while the command is incomplete; the
// words are then to be discarded. An empty command takes bytes and appends
// nothing. Whatever follows in b does not change the result, so a command is
// read alike however its bytes arrive.
func parseCommand(args [][]byte, b []byte) (_ [][]byte, n int, err error) {
	switch {
	case len(b) == 0:
		return args, 0, nil
	case b[0] == '*':
		return parseMultibulk(args, b)
	default:
		return parseInline(args, b)
	}
}

// parseMultibulk parses an array of bulk strings: *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n.
func parseMultibulk(args [][]byte, b []byte) (_ [][]byte, n int, err error) {
	count, used, err := parseLength(b[1:], MaxArgs, errMultibulkLength, errMultibulkHeader)
	if used == 0 || err != nil {
		return args, 0, err
	}
	pos := 1 + used
	for range count { // no turn for the null array, whose count is -1
		word, used, err := parseBulk(b[pos:])
		if used == 0 || err != nil {
			return args, 0, err
		}
		args = append(args, word)
		pos += used
	}
	return args, pos, nil
}

// parseBulk parses one bulk string, $2\r\nhi\r\n, and returns its data as a
// slice of b. The null string is no word.
func parseBulk(b []byte) (word []byte, n int, err error) {
	if len(b) == 0 {
		return nil, 0, nil
	}
	if b[0] != '$' {
		return nil, 0, errNotBulk(b[0])
	}
	size, used, err := parseLength(b[1:], MaxBulk, errBulkLength, errBulkHeader)
	if used == 0 || err != nil {
		return nil, 0, err
	}
	if size < 0 {
		return nil, 0, errBulkLength
	}
	from, to := 1+used, 1+used+size
	if len(b) < to+2 {
		return nil, 0, nil
	}
	if b[to] != '\r' || b[to+1] != '\n' {
		return nil, 0, errBulkEnd
	}
	return b[from:to:to], to + 2, nil
}

// parseLength parses a decimal from -1 to limit and its CRLF, and returns how
// many bytes they took, 0 while they are incomplete. wrong and endless are the
// errors to return for a bad number and for a line without an end.
func parseLength(b []byte, limit int, wrong, endless *ProtocolError) (value, n int, err error) {
	i := 0
	for i < len(b) && i <= maxHeader && b[i] != '\r' {
		i++
	}
	switch {
	case i > maxHeader:
		return 0, 0, endless
	case i+1 >= len(b):
		return 0, 0, nil
	case b[i+1] != '\n':
		return 0, 0, wrong
	}
	value, ok := parseDecimal(b[:i], limit)
	if !ok {
		return 0, 0, wrong
	}
	return value, i + 2, nil
}

// parseDecimal accepts -1 and 0 to limit in their shortest form: no plus sign,
// no leading zero, no blank.
func parseDecimal(b []byte, limit int) (value int, ok bool) {
	if string(b) == "-1" {
		return -1, true
	}
	if len(b) == 0 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if value = 10*value + int(c-'0'); value > limit {
			return 0, false
		}
	}
	return value, true
}

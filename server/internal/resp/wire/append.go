package wire

import "strconv"

// The Append functions append one reply, or the beginning of one, to dst and return the extended slice. If the form
// depends on the protocol version, the version is the second argument.

// AppendSimple appends a simple string such as +OK. CR and LF, which a simple string cannot contain, become spaces.
func AppendSimple(dst []byte, text string) []byte { return appendLine(dst, '+', text) }

// AppendError appends an error. text begins with its code in capitals, as in "ERR unknown command". CR and LF become
// blanks, so that text can never end this reply and start another.
func AppendError(dst []byte, text string) []byte { return appendLine(dst, '-', text) }

// AppendInt appends an integer.
func AppendInt(dst []byte, n int64) []byte { return appendHeader(dst, ':', n) }

// AppendBulk appends a bulk string, which may hold any bytes.
func AppendBulk[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = appendHeader(dst, '$', int64(len(s)))
	dst = append(dst, s...)
	return append(dst, "\r\n"...)
}

// AppendNull appends a null. In RESP2 it appends the null bulk string.
func AppendNull(dst []byte, p Proto) []byte {
	if p == RESP3 {
		return append(dst, "_\r\n"...)
	}
	return append(dst, "$-1\r\n"...)
}

// AppendArray starts an array of n values. The caller appends the values.
func AppendArray(dst []byte, n int) []byte { return appendHeader(dst, '*', int64(n)) }

// AppendMap starts a map of n pairs. The caller appends n keys, each followed by its value. RESP2 has no maps, so it
// starts an array of 2n values instead.
func AppendMap(dst []byte, p Proto, n int) []byte {
	if p == RESP3 {
		return appendHeader(dst, '%', int64(n))
	}
	return AppendArray(dst, 2*n)
}

// AppendSet starts a set of n values, or an array in RESP2. The caller appends the values.
func AppendSet(dst []byte, p Proto, n int) []byte {
	if p == RESP3 {
		return appendHeader(dst, '~', int64(n))
	}
	return AppendArray(dst, n)
}

// AppendVerbatim appends text that a client should show unchanged. In RESP2 it appends a bulk string.
func AppendVerbatim[S ~string | ~[]byte](dst []byte, p Proto, text S) []byte {
	if p == RESP2 {
		return AppendBulk(dst, text)
	}
	dst = appendHeader(dst, '=', int64(len("txt:")+len(text)))
	dst = append(dst, "txt:"...)
	dst = append(dst, text...)
	return append(dst, "\r\n"...)
}

// appendHeader appends a line with a type byte and a number.
func appendHeader(dst []byte, kind byte, n int64) []byte {
	dst = append(dst, kind)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "\r\n"...)
}

func appendLine(dst []byte, kind byte, text string) []byte {
	dst = append(dst, kind)
	from := len(dst)
	dst = append(dst, text...)
	for i, c := range dst[from:] {
		if c == '\r' || c == '\n' {
			dst[from+i] = ' '
		}
	}
	return append(dst, "\r\n"...)
}

package envoy

import (
	"crypto/sha256"

	"github.com/headgate/headgate/engine"
)

// Space is the prefix of the name spaces in which counters are: envoy:<domain>.
const Space = "envoy:"

// keyWriter writes the key of a counter from the matched entries: key=value,key=value…,
// with a backslash before each comma, equals sign or backslash inside a key or value. So
// different entries have different keys, whatever bytes they have.
//
// A key of 1024 bytes or more is cut: its first 992 bytes and the SHA-256 of the whole
// make exactly 1024, a length that no other key has.
type keyWriter struct {
	buffer []byte
	from   int
}

func (k *keyWriter) entry(key, value string) {
	if len(k.buffer) > k.from {
		k.buffer = append(k.buffer, ',')
	}
	k.buffer = appendEscaped(k.buffer, key)
	k.buffer = append(k.buffer, '=')
	k.buffer = appendEscaped(k.buffer, value)
}

// end returns the buffer with the whole key.
func (k *keyWriter) end() []byte {
	key := k.buffer[k.from:]
	if len(key) < engine.MaxKeyBytes {
		return k.buffer
	}
	sum := sha256.Sum256(key)
	return append(k.buffer[:k.from+engine.MaxKeyBytes-len(sum)], sum[:]...)
}

func appendEscaped(to []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; c {
		case ',', '=', '\\':
			to = append(to, '\\', c)
		default:
			to = append(to, c)
		}
	}
	return to
}

package envoy

import (
	"crypto/sha256"
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

// Space is the prefix of the name spaces in which counters are: envoy:<domain>.
const Space = "envoy:"

// keyWriter writes the key of a counter from the matched entries: key=value,key=value…,
// with a backslash before each comma, equals sign or backslash inside a key or value. So
// different entries have different keys, whatever bytes they have.
//
// A key of 1024 bytes or more is cut: its first 992 bytes and the SHA-256 of the whole
// make exactly 1024, a length that no other key has.
//
// With secrets the key is the hash of that.
type keyWriter struct {
	buffer  []byte
	from    int
	secrets *keyhash.Secrets // nil: keys are not hashed
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
	if k.secrets != nil {
		whole := k.secrets.Append(k.buffer, 0, unsafe.String(unsafe.SliceData(key), len(key)))
		return append(whole[:k.from], whole[len(k.buffer):]...)
	}
	if len(key) < engine.MaxKeyBytes {
		return k.buffer
	}
	sum := sha256.Sum256(key)
	return append(k.buffer[:k.from+engine.MaxKeyBytes-len(sum)], sum[:]...)
}

// appendValue appends a value of a request to the name of a statistic: its hash if keys are
// hashed, because the value can be an address of a person.
func appendValue(to []byte, value string, secrets *keyhash.Secrets) []byte {
	if secrets == nil || value == "" {
		return append(to, value...)
	}
	return secrets.Append(to, 0, value)
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

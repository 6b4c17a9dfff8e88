package envoy

import (
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

// Space is the prefix of the counters' namespaces: envoy:<domain>.
const Space = "envoy:"

// keyWriter writes the key of a counter from the matched entries, as key=value,key=value…. A backslash precedes each
// comma, equals sign or backslash inside a key or value, so that different entries have different keys, whatever
// bytes they contain.
//
// In a key that is too long for a store, long values are replaced by their SHA-256, as in routes, and so is a value that
// looks like one. If it is still too long, the whole is.
type keyWriter struct {
	buffer []byte
	from   int
}

// maxValue is the maximum length of a value in a key that would be too long.
const maxValue = 127

func (k *keyWriter) entry(key, value string) {
	if strings.HasPrefix(value, core.HashPrefix) {
		value = core.Hash(value)
	}
	k.write(key, value)
}

func (k *keyWriter) write(key, value string) {
	if len(k.buffer) > k.from {
		k.buffer = append(k.buffer, ',')
	}
	k.buffer = appendEscaped(k.buffer, key)
	k.buffer = append(k.buffer, '=')
	k.buffer = appendEscaped(k.buffer, value)
}

// end returns the buffer with the complete key.
func (k *keyWriter) end() []byte {
	key := k.buffer[k.from:]
	if len(key) <= engine.MaxKeyBytes {
		return k.buffer
	}
	var short keyWriter
	for _, e := range entriesOf(string(key)) {
		if len(e.Value) > maxValue {
			e.Value = core.Hash(e.Value)
		}
		short.write(e.Key, e.Value)
	}
	return append(k.buffer[:k.from], core.Shortened(string(short.buffer))...)
}

// entriesOf returns the entries of a key written by a keyWriter. If all values of a pattern share a counter, the value
// is the pattern.
func entriesOf(key string) (entries []*ratelimit.RateLimitDescriptor_Entry) {
	var parts [2][]byte // key and value
	at := 0
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case c == '=' && at == 0:
			at = 1
		case c == ',':
			entries = append(entries, &ratelimit.RateLimitDescriptor_Entry{Key: string(parts[0]), Value: string(parts[1])})
			parts, at = [2][]byte{}, 0
		default:
			if c == '\\' && i+1 < len(key) {
				i++
			}
			parts[at] = append(parts[at], key[i])
		}
	}
	return append(entries, &ratelimit.RateLimitDescriptor_Entry{Key: string(parts[0]), Value: string(parts[1])})
}

// appendValue appends a value from a request to the name of a statistic. If keys are hashed, it appends the value's
// hash, because the value can be a person's address.
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

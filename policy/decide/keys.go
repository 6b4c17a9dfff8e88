package decide

import (
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

// hashKeys has the hashes of the keys in one batch, in the batch's memory. Without secrets it is empty: keys are not
// hashed.
type hashKeys struct {
	secrets *keyhash.Secrets
	buffer  []byte
	counted []string // the hash of the key of each request
	names   []string // hashes of the key being planned, one per secret
}

// of returns the key or hash that a request is counted under, and the key for looking up overrides. An invalid key is
// not changed, so that the store rejects it. A client's key that has the form of a hash finds no override, because
// overrides of that hash are for another key.
func (h *hashKeys) of(r *Request) (counted, named string) {
	if r.Items != nil { // each item has its own key
		h.counted = append(h.counted, "")
		return "", ""
	}
	counted, named = h.text(r.Key, r.Counted)
	h.counted = append(h.counted, h.names[0])
	return counted, named
}

// text is of for a key whose hash may be known.
func (h *hashKeys) text(key, known string) (counted, named string) {
	if h.secrets == nil {
		return key, key
	}
	h.names = h.names[:0]
	if counted = known; counted == "" {
		counted = h.hash(0, key)
	}
	h.names = append(h.names, counted)
	for secret := 1; secret < h.secrets.Count(); secret++ {
		h.names = append(h.names, h.hash(secret, key))
	}
	if key == "" || len(key) > engine.MaxKeyBytes {
		counted = key
	}
	if keyhash.Is(key) {
		return counted, counted
	}
	return counted, key
}

// hash returns the hash of a key. It shares the memory of the buffer, whose bytes do not change before the batch
// ends, even if the buffer grows.
func (h *hashKeys) hash(secret int, key string) string {
	from := len(h.buffer)
	h.buffer = h.secrets.Append(h.buffer, secret, key)
	return unsafe.String(unsafe.SliceData(h.buffer[from:]), len(h.buffer)-from)
}

func (h *hashKeys) free() {
	clear(h.counted)
	clear(h.names)
	h.secrets, h.buffer, h.counted, h.names = nil, h.buffer[:0], h.counted[:0], h.names[:0]
}

package decide

import (
	"unsafe"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/keyhash"
)

// hashKeys holds the hashes of one batch's keys and the buffer that contains them. It is empty if there are no secrets,
// because then keys are not hashed.
type hashKeys struct {
	secrets *keyhash.Secrets
	buffer  []byte
	counted []string // the hash of each request's key
	names   []string // the hashes of the key being planned, one per secret
}

// of returns the key or hash that a request is counted under, and the key for looking up overrides. Invalid keys are
// not hashed, so that the store rejects them. If a client sends a key that looks like a hash, it must not match the
// override for that hash, which is for another key.
func (h *hashKeys) of(r *Request) (counted, named string) {
	if r.Items != nil { // each item has its own key
		h.counted = append(h.counted, "")
		return "", ""
	}
	counted, named = h.text(r.Key, r.Counted)
	h.counted = append(h.counted, h.names[0])
	return counted, named
}

// text returns the same as [hashKeys.of] for the text of one key. known is the key's hash, or "" if it has not been
// computed yet. The hashes remain in h.names. Unlike of, text does not add to h.counted.
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

// hash returns the hash of a key. The string shares the buffer's memory and stays valid until the batch ends, even if
// the buffer grows.
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

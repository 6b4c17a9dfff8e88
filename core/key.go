package core

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/headgate/headgate/engine"
)

// HashPrefix begins the keys that stand for long ones: see [Shortened].
const HashPrefix = "sha256:"

// Shortened returns the key, or its SHA-256 hash if the key is longer than the 1024 bytes that a store accepts. It also
// hashes a key that looks like such a hash, which is the key of another client (bug 98).
func Shortened(key string) string {
	if len(key) <= engine.MaxKeyBytes && !strings.HasPrefix(key, HashPrefix) {
		return key
	}
	return Hash(key)
}

// Hash returns the text that stands for a long key, or for a long part of a key.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return HashPrefix + hex.EncodeToString(sum[:])
}

// Only returns the first value of a header, a cookie or a query field, or "" if there is none. same is false if another
// one differs. A client could otherwise be counted under one value while the handler reads the other (bug 97).
func Only(values []string) (text string, same bool) {
	if len(values) == 0 {
		return "", true
	}
	for _, other := range values[1:] {
		if other != values[0] {
			return "", false
		}
	}
	return values[0], true
}

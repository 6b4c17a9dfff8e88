package core

import (
	"crypto/sha256"
	"encoding/base64"
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

// Authorization returns the value of an Authorization header in one spelling, because servers read one credential in
// many: with the scheme in lower case, one blank after it, and Base64 in its shortest form after Basic (bug 217).
// readable is as in [Credential].
func Authorization(header string) (text string, readable bool) {
	scheme, text, readable := Credential(header)
	if scheme != "" {
		text = scheme + " " + text
	}
	return text, readable
}

// Credential returns the scheme in an Authorization header, in lower case, or "" if it has only one word, and the text
// after it. readable is false for text that servers read in different ways: some take a part of Bearer a b or Bearer a,b.
func Credential(header string) (scheme, text string, readable bool) {
	text = strings.TrimSpace(header)
	end := strings.IndexAny(text, " \t")
	if end < 0 {
		return "", text, true
	}
	switch scheme, text = text[:end], strings.TrimSpace(text[end:]); {
	case strings.EqualFold(scheme, "bearer"):
		scheme = "bearer" // without an allocation, for each token
	case strings.EqualFold(scheme, "basic"):
		scheme = "basic"
		if plain, err := base64.RawStdEncoding.DecodeString(plainBase64.Replace(strings.TrimRight(text, "="))); err == nil {
			text = base64.RawStdEncoding.EncodeToString(plain)
		}
	default:
		return strings.ToLower(scheme), text, true
	}
	return scheme, text, !strings.ContainsAny(text, " \t,")
}

var plainBase64 = strings.NewReplacer("-", "+", "_", "/")

// Key joins parts into one key: see headgate.Key.
func Key(parts ...string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	for i, p := range parts {
		if strings.ContainsAny(p, `:\`) {
			return escapeParts(parts, i)
		}
	}
	return strings.Join(parts, ":")
}

var partEscaper = strings.NewReplacer(":", `\:`, `\`, `\\`)

func escapeParts(parts []string, first int) string {
	escaped := append([]string(nil), parts...)
	for i := first; i < len(escaped); i++ {
		escaped[i] = partEscaper.Replace(escaped[i])
	}
	return strings.Join(escaped, ":")
}

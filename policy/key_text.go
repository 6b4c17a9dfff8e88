package policy

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// bytesKey is the prefix of a key that is written as base64, because YAML, JSON and terminals carry only text.
const bytesKey = "base64:"

// IsPattern reports whether the text of an override stands for all keys that match it.
func IsPattern(text string) bool { return strings.Contains(text, "*") }

// KeyText returns a key as text: a key that is not UTF-8 becomes base64:… and so does a key that looks like this form
// or like a pattern, so that a client's key a* cannot be taken for all keys that begin with an a.
func KeyText(key string) string {
	if utf8.ValidString(key) && !IsPattern(key) && OverrideKey(key) == key {
		return key
	}
	return bytesKey + base64.StdEncoding.EncodeToString([]byte(key))
}

// OverrideKey is the inverse of [KeyText]: it returns the key that an override or an operator writes as text. A text of
// another form stands for itself.
func OverrideKey(text string) string {
	encoded, ok := strings.CutPrefix(text, bytesKey)
	if !ok {
		return text
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if plain := string(key); err == nil && (!utf8.Valid(key) || IsPattern(plain) || strings.HasPrefix(plain, bytesKey)) {
		return plain
	}
	return text
}

package route

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// maxToken is the length of the longest token that is read.
const maxToken = 8 << 10

// claim returns a claim of a JSON Web Token: a text, a number or true or false. It is ""
// if the header has no token, or the token no such claim.
//
// The signature is not verified: anybody can write any claim. A key from a claim keeps
// honest callers apart; the service behind must reject forged tokens, or a caller gets a
// fresh key by changing the claim.
func claim(header, name string) string {
	token := header
	if scheme, rest, ok := strings.Cut(strings.TrimSpace(header), " "); ok && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(rest)
	}
	parts := strings.SplitN(token, ".", 4)
	if len(token) > maxToken || len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal(payload, &claims) != nil {
		return ""
	}
	return scalar(claims[name])
}

// scalar returns a text without its quotes, or a number or truth value as it is written.
func scalar(value json.RawMessage) string {
	if len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

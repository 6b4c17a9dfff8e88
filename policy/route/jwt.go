package route

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/headgate/headgate/core"
)

// maxToken is the maximum length of a token.
const maxToken = 8 << 10

// claim returns a claim of a JSON Web Token: a string, a number, true or false. The text is "" if the header contains
// no token, or the token lacks the claim. readable is false if the token cannot be read. Such a token must not count as
// missing: an upstream may accept it, so a client could use one to avoid its key.
//
// The signature is not verified, so a client can put anything into a claim. A key from a claim only distinguishes
// honest callers. The upstream must reject forged tokens; otherwise callers can get a fresh key by changing the claim.
func claim(header, name string) (text string, readable bool) {
	scheme, token, _ := core.Credential(header)
	if scheme != "bearer" {
		token = header
	}
	switch parts := strings.SplitN(token, ".", 4); {
	case len(parts) < 3 && len(token) <= maxToken:
		return "", true // another kind of token
	case len(parts) != 3 || len(token) > maxToken:
		return "", false
	default:
		return claimOf(parts[1], name)
	}
}

// credential returns the credential in an Authorization header, or "" if its scheme is not Bearer. readable is false
// for text that servers read in different ways, such as Bearer after another scheme, which some find, or a byte beyond
// ASCII, which is a blank for some (regression: bug 227).
func credential(header string) (text string, readable bool) {
	if strings.ContainsFunc(header, func(c rune) bool { return c > '~' }) {
		return "", false
	}
	scheme, text, readable := core.Credential(header)
	if scheme != "bearer" {
		return "", !strings.Contains(strings.ReplaceAll(lowerASCII(header), "\t", " "), "bearer ")
	}
	return text, readable
}

// claimOf returns a claim in a token's payload. The text is "" if the claim is absent or null. readable is false if the
// payload cannot be decoded, or if the claim is an object or a list.
func claimOf(part, name string) (text string, readable bool) {
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(part, "="))
	if err != nil {
		return "", false
	}
	var claims map[string]json.RawMessage
	if json.Unmarshal(payload, &claims) != nil {
		return "", false
	}
	return scalar(claims[name])
}

// scalar returns a string without its quotes, or a number or boolean as written. readable is false for objects and
// lists.
func scalar(value json.RawMessage) (text string, readable bool) {
	switch {
	case len(value) == 0 || string(value) == "null":
		return "", true
	case value[0] == '{' || value[0] == '[':
		return "", false
	case json.Unmarshal(value, &text) == nil:
		return text, true
	default:
		return string(value), true
	}
}

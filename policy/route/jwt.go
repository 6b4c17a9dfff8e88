package route

import (
	"encoding/base64"
	"encoding/json"
	"strings"
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
	token, ok := bearer(header)
	if !ok {
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

// bearer returns the text after the scheme in an Authorization header of the scheme Bearer, without white space around
// it. The scheme's case does not matter. ok is false for another scheme or no text.
func bearer(header string) (text string, ok bool) {
	header = strings.TrimSpace(header)
	end := strings.IndexAny(header, " \t")
	if end < 0 || !strings.EqualFold(header[:end], "Bearer") {
		return "", false
	}
	return strings.TrimSpace(header[end:]), true
}

// credential returns the credential in an Authorization header, or "" if its scheme is not Bearer. readable is false
// for text that servers read in different ways: some take a part of Bearer a b or Bearer a,b, some find Bearer after
// another scheme, and for some a byte beyond ASCII is a blank (regression: bug NNN8).
func credential(header string) (text string, readable bool) {
	if strings.ContainsFunc(header, func(c rune) bool { return c > '~' }) {
		return "", false
	}
	text, ok := bearer(header)
	if !ok {
		return "", !strings.Contains(strings.ReplaceAll(lowerASCII(header), "\t", " "), "bearer ")
	}
	return text, !strings.ContainsAny(text, " \t,")
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

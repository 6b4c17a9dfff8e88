package route

import "net/http"

const nameAccepted = "letters, digits and !#$%&'*+-.^_`|~"

// IsToken reports whether text is valid as the name of a header, a cookie or a method.
func IsToken(text string) bool {
	if text == "" || len(text) > 256 {
		return false
	}
	for i := range len(text) {
		if !tokenBytes[text[i]] {
			return false
		}
	}
	return true
}

var tokenBytes = func() (set [256]bool) {
	for c := '0'; c <= 'z'; c++ {
		set[c] = '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		set[c] = true
	}
	return set
}()

// canonical returns the name that net/http stores a header under.
func canonical(name string) string { return http.CanonicalHeaderKey(name) }

package users

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Bounds of a file with tokens.
const (
	maxTokens     = 2 // of each kind, so that tokens can be rotated
	minTokenBytes = 16
	maxTokenBytes = 256
)

// readOnly is the prefix of a line with a token that may only read.
const readOnly = "read "

// hasTokens reports whether a file lists operators' tokens, one per line, instead of users. In a file of tokens no
// line looks like a YAML field.
func hasTokens(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ":") || strings.Contains(line, ": ") {
			return false
		}
	}
	return strings.TrimSpace(text) != ""
}

// parseTokens reads a file with tokens. Each is an operator's secret.
func parseTokens(name string, data []byte) (*all, error) {
	a := newAll()
	for line := range strings.Lines(string(data)) {
		token, reads := strings.CutPrefix(strings.TrimSpace(line), readOnly)
		if token = strings.TrimSpace(token); token == "" && !reads {
			continue
		}
		if len(token) < minTokenBytes || len(token) > maxTokenBytes {
			return nil, fmt.Errorf("%s: a token of %d bytes; accepted: %d to %d, or a file with users", name, len(token), minTokenBytes, maxTokenBytes)
		}
		u := User{Name: "operate", may: rights["operate"]}
		if reads {
			u = User{Name: "read", may: mayRead}
		}
		a.addSecret(u, sha256.Sum256([]byte(token)))
		if len(a.byName[u.Name]) > maxTokens {
			return nil, fmt.Errorf("%s: more than %d tokens that %s; accepted: one or two of either kind, one a line", name, maxTokens, u.Name)
		}
	}
	return a, nil
}

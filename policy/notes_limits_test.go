package policy

import (
	"strings"
	"testing"
)

// TestLimitsThatCannotBeUsed checks the part of a limit that a key gets if it always sends, and that each limit below
// nine tenths has a note (regression: bug 180).
func TestLimitsThatCannotBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		"limit: 1, window: 1m":                                                    "",
		"limit: 1, window: 1m, segments: 8":                                       "88 %",
		"limit: 1, window: 1m, segments: 10, variant: strict":                     "",
		"limit: 1, window: 1m, variant: weighted":                                 "50 %",
		"limit: 5, window: 1m, variant: weighted":                                 "80 %",
		"limit: 10, window: 1m, variant: weighted":                                "",
		"limit: 1, window: 1m, variant: weighted, segments: 10":                   "",
		"limit: 1, window: 1m, variant: lenient":                                  "",
		"segment: 1s, windows: [{limit: 1, window: 2s}, {limit: 9, window: 20s}]": "66 %",
	} {
		c, err := Parse("p.yaml", []byte("policies: {p: {algorithm: sliding-window, "+text+"}}"))
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(c.Notes(), "\n")
		if noted := "a key that always sends gets about " + want + " of the limit of policy p, sliding-window"; (want == "") != (notes == "") || want != "" && !strings.Contains(notes, noted) {
			t.Errorf("%s: %q, want %q", text, notes, want)
		}
	}
}

// TestLimitsForAllAreHidden checks that each policy with one key for all requests has a note, unless its headers are
// off.
func TestLimitsForAllAreHidden(t *testing.T) {
	const note = "counts all clients under one key"
	for settings, want := range map[string]bool{"": true, ", headers: draft-03": true, ", headers: off": false, ", shadow: true": false, ", enabled: false": false} {
		for key, all := range map[string]bool{"{const: all}": true, "{const: a}, {const: b}": true, "client_ip": false, "{const: a}, {header: X}": false} {
			c, err := Parse("p.yaml", []byte("policies: {p: {algorithm: token-bucket, rate: 500/s"+settings+"}, q: {all: [p]}}\nroutes: [{key: ["+key+"], policies: [q]}]"))
			if err != nil {
				t.Fatal(err)
			}
			if notes := strings.Join(c.Notes(), "\n"); strings.Contains(notes, "policy p "+note) != (want && all) {
				t.Errorf("%s by %s: %q", settings, key, notes)
			}
		}
	}
}

package policy_test

import (
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/headgate/headgate/policy"
)

// TestKeyText checks that every key has one text, which an override accepts, and that other texts stand for themselves:
// a client's key a* is no pattern (regression: bug 266).
func TestKeyText(t *testing.T) {
	for key, want := range map[string]string{
		"ann": "ann", "\xff": "base64:/w==", "a\xffb": "base64:Yf9i", "base64:/w==": "base64:YmFzZTY0Oi93PT0=", "base64:": "base64:", "base64:ann": "base64:ann", "base64:YW5u": "base64:YW5u",
		"a*": "base64:YSo=", "\xff*": "base64:/yo=",
	} {
		text := policy.KeyText(key)
		if text != want || !utf8.ValidString(text) || policy.OverrideKey(text) != key {
			t.Errorf("%q has the text %q, which is the key %q; want %q", key, text, policy.OverrideKey(text), want)
		}
	}
	config, err := policy.Parse("x.yaml", []byte("policies: {a: 5/s}\noverrides: [{policy: a, key: 'base64:/w==', deny: true}, {policy: a, key: 'base64:YmFzZTY0Oi93PT0=', unlimited: true},\n"+
		"  {policy: a, key: 'base64:YSo=', deny: true}, {policy: a, key: 'base64:/yo=', deny: true}, {policy: a, key: 'b*', deny: true}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := config.Policies.Get("a")
	for key, want := range map[string]string{"\xff": "deny", "base64:/w==": "unlimited", "\xfe": "5/s", "a*": "deny", "ab": "5/s", "\xff*": "deny", "\xffb": "5/s", "bc": "deny"} {
		if got := p.Charges(nil, key, 1)[0].Limit.String(); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
	var keys []string
	for _, o := range p.Summary().Overrides {
		keys = append(keys, o.Key)
	}
	if want := []string{"base64:YSo=", "base64:YmFzZTY0Oi93PT0=", "base64:/w==", "base64:/yo=", "b*"}; !slices.Equal(keys, want) {
		t.Errorf("the overrides are for %q, want %q", keys, want)
	}
}

package route

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/engine"
)

// TestLongKeysAreHashed checks that a key that is too long for a store is replaced by its hash, and that keys with
// different parts have different hashes.
func TestLongKeysAreHashed(t *testing.T) {
	long := strings.Repeat("x", engine.MaxKeyBytes)
	if got := join([]string{long}); got != long {
		t.Errorf("a key of %d bytes was changed", len(long))
	}
	seen := map[string]bool{}
	for _, parts := range [][]string{{long, "a"}, {long, "b"}, {long + "a"}, {"a", long}, {long + "::a"}} {
		key := join(parts)
		if len(key) > engine.MaxKeyBytes || seen[key] {
			t.Errorf("%d bytes of parts have the key %q", len(long), key)
		}
		seen[key] = true
	}
}

// TestLongPartsAreHashed checks that a long part of a key does not change the others, so that an override with a pattern
// and the group of a nested share still apply to the client that sends it (regression: bug 235).
func TestLongPartsAreHashed(t *testing.T) {
	long := strings.Repeat("x", engine.MaxKeyBytes)
	user := "acme:" + strings.Replace(core.Shortened(long+"y"), ":", `\:`, 1)
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"acme", long + "y"}, user},
		{[]string{"acme", core.Shortened(long + "y")}, "acme:" + strings.Replace(core.Hash(core.Shortened(long+"y")), ":", `\:`, 1)},
		{[]string{"acme", long[:900]}, "acme:" + long[:900]},
		{[]string{"a:b", "c"}, `a\:b:c`},
	} {
		if got := join(c.parts); got != c.want {
			t.Errorf("%.40q: %q, want %q", c.parts, got, c.want)
		}
	}
	most := make([]string, MaxParts)
	for _, text := range []string{strings.Repeat("x", maxPart-1), strings.Repeat(":", maxPart/2), strings.Repeat(":", maxPart), long} {
		for i := range most {
			most[i] = text
		}
		if key := join(most); len(key) > engine.MaxKeyBytes || strings.HasPrefix(key, core.HashPrefix) {
			t.Errorf("%d parts of %d bytes: %q", MaxParts, len(text), key)
		}
	}
}

// A client cannot send the hash of a long key, and so be counted under that key (regression: bug 98).
func TestHashesAreHashed(t *testing.T) {
	long := join([]string{strings.Repeat("x", engine.MaxKeyBytes+1)})
	if again := join([]string{long}); again == long || !strings.HasPrefix(again, core.HashPrefix) || len(again) != len(long) {
		t.Errorf("%q is counted under %q", long, again)
	}
	if got := join([]string{core.HashPrefix}); got == core.HashPrefix {
		t.Errorf("%q is unchanged", got)
	}
}

// TestTokenIsBounded checks that a token longer than 8 KiB counts as unreadable.
func TestTokenIsBounded(t *testing.T) {
	token := func(signature int) string { return "e30.eyJzdWIiOiJhIn0." + strings.Repeat("s", signature) }
	if got, readable := claim("Bearer "+token(5000), "sub"); got != "a" || !readable {
		t.Errorf("a claim of %q, %t", got, readable)
	}
	if got, readable := claim("Bearer "+token(9000), "sub"); got != "" || readable {
		t.Errorf("a token that is too long has the claim %q, %t", got, readable)
	}
}

// constant is a charge with one key for all requests.
var constant = []Charge{{Key: []Part{{Name: "all"}}}}

// A client behind NAT64 is counted by its IPv4 address, and matches networks by the address as it is.
func TestEmbeddedAddressIsTheKey(t *testing.T) {
	byClient := []Charge{{Policies: constant[0].Policies, Key: []Part{{From: FromClient, V6Prefix: 128}}}}
	inside := Conditions{Clients: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	table := New([]Route{{Match: inside, Charges: constant}, {Charges: byClient}}, Loopback)
	for peer, want := range map[string]string{"192.0.2.7": "0 all", "64:ff9b::192.0.2.7": "1 192.0.2.7", "2002:c000:207::1": "1 192.0.2.7", "2001:db8::1": "1 2001:db8::1/128"} {
		m, _ := table.Find(&Request{Method: http.MethodGet, Path: "/", Header: http.Header{}, Peer: netip.MustParseAddr(peer)})
		if got := fmt.Sprint(m.Index, " ", m.Items[0].Key); got != want {
			t.Errorf("%s is counted by %q, want %q", peer, got, want)
		}
	}
}

// TestHeaderNamesInAnyCase checks that a part has the value of its header in one spelling, however a file writes the name.
func TestHeaderNamesInAnyCase(t *testing.T) {
	r := Request{Method: http.MethodGet, Host: "H:80", Path: "/", Header: http.Header{"Authorization": {"BASIC  YTpi"}}}
	for name, want := range map[string]string{"Authorization": "basic YTpi", "authorization": "basic YTpi", "Host": "h", "host": "h"} {
		m, _ := New([]Route{{Charges: []Charge{{Key: []Part{{From: FromHeader, Name: name}}}}}}, Proxies{}).Find(&r)
		if m.NoKey != nil || m.Items[0].Key != want {
			t.Errorf("%s: %+v, want %q", name, m, want)
		}
	}
}

package core

import (
	"net/netip"
	"testing"
)

// TestEmbeddedIPv4IsTheClient checks which IPv4 address counts for an IPv6 address that contains one. The examples of
// Teredo and 6to4 are those of their RFCs, with documentation addresses (regression: bug 177).
func TestEmbeddedIPv4IsTheClient(t *testing.T) {
	for address, want := range map[string]string{
		"203.0.113.7":                          "203.0.113.7",
		"::ffff:203.0.113.7":                   "203.0.113.7",
		"64:ff9b::203.0.113.7":                 "203.0.113.7",
		"64:ff9b::cb00:7107%eth0":              "203.0.113.7",
		"64:ff9b:0:0:0:1:203.0.113.7":          "64:ff9b::/64", // not in 64:ff9b::/96
		"64:ff9b:1::203.0.113.7":               "203.0.113.7",
		"64:ff9b:1:fffe::203.0.113.7":          "203.0.113.7",
		"64:ff9b:2::203.0.113.7":               "64:ff9b:2::/64",
		"::203.0.113.7":                        "203.0.113.7",
		"::1":                                  "::/64",
		"::":                                   "::/64",
		"::0.1.2.3":                            "::/64",
		"2001:0:cb00:7101:8000:63bf:34ff:8ef8": "203.0.113.7", // port 40000, behind the server 203.0.113.1
		"2001:1::1":                            "2001:1::/64",
		"2002:cb00:7107::1":                    "203.0.113.7",
		"2002:cb00:7107:ffff:1:2:3:4":          "203.0.113.7",
		"2003:cb00:7107::1":                    "2003:cb00:7107::/64",
		"2001:db8::1":                          "2001:db8::/64",
	} {
		if got := ClientKey(netip.MustParseAddr(address), 64); got != want {
			t.Errorf("%s is counted as %q, want %q", address, got, want)
		}
	}
	if got := ClientKey(netip.MustParseAddr("2001:db8::1"), 128) + ClientKey(netip.Addr{}, 64) + ClientKey(netip.MustParseAddr("2001:db8::1"), 129); got != "2001:db8::1/128" {
		t.Error(got)
	}
}

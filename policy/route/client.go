package route

import (
	"net/netip"

	"github.com/headgate/headgate/httplimit"
)

// Proxies are the addresses that are believed when they say who their client is.
type Proxies = httplimit.Proxies

// Loopback is what is trusted where a file says nothing: proxies on the same machine.
var Loopback = httplimit.Loopback

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return Proxies(prefixes).Trusts(address)
}

package route

import (
	"net/netip"

	"github.com/headgate/headgate/httplimit"
)

// Proxies are the addresses whose X-Forwarded-For, Forwarded and X-Real-IP are trusted.
type Proxies = httplimit.Proxies

// Loopback is the default: proxies on the same machine.
var Loopback = httplimit.Loopback

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return Proxies(prefixes).Trusts(address)
}

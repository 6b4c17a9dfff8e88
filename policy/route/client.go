package route

import (
	"net/netip"

	"github.com/headgate/headgate/httplimit"
)

// Proxies configures which peers are trusted to name their clients.
type Proxies = httplimit.Proxies

// Loopback is the default of trusted_proxies: proxies on the same machine.
var Loopback = httplimit.Loopback

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return Proxies{Networks: prefixes}.Trusts(address)
}

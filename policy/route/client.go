package route

import (
	"net/netip"

	"github.com/headgate/headgate/httplimit"
)

// Proxies says which peers may name their client.
type Proxies = httplimit.Proxies

// Loopback is the value of trusted_proxies by default: proxies on the same machine.
var Loopback = httplimit.Loopback

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return Proxies{Networks: prefixes}.Trusts(address)
}

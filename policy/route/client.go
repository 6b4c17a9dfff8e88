package route

import (
	"net/netip"

	"github.com/headgate/headgate/httplimit/wire"
)

// Proxies configures which peers are trusted to name their clients.
type Proxies = wire.Proxies

// Loopback is the default of trusted_proxies: proxies on the same machine.
var Loopback = wire.Loopback

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	return Proxies{Networks: prefixes}.Trusts(address)
}

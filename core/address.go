package core

import (
	"encoding/binary"
	"net/netip"
)

// Blocks of IPv6 addresses that contain an IPv4 address.
var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")   // RFC 6052
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
)

// ClientNetwork returns the network under which a client is counted: an IPv4 address itself, or the network of an IPv6
// address with this number of leading bits. An IPv6 address that contains the client's IPv4 address is counted as that
// address: behind NAT64 or Teredo all clients would otherwise be one, and a client with 6to4 has 65 536 networks of 64
// bits. It returns the zero Prefix if the address or the number of bits is invalid.
//
// Only keys and shares use it. Whether a proxy is trusted, or a route matches, depends on the address as it is:
// otherwise 2002:7f00:1:: would be trusted as 127.0.0.1.
func ClientNetwork(client netip.Addr, v6Bits int) netip.Prefix {
	client = client.Unmap().WithZone("")
	if client.Is6() {
		client = embedded(client)
	}
	if client.Is6() {
		network, _ := client.Prefix(v6Bits)
		return network
	}
	return netip.PrefixFrom(client, client.BitLen())
}

// ClientKey returns the text of [ClientNetwork] in keys: 203.0.113.7 or 2001:db8::/64. It is "" for the zero Prefix.
func ClientKey(client netip.Addr, v6Bits int) string {
	switch network := ClientNetwork(client, v6Bits); {
	case !network.IsValid():
		return ""
	case network.Addr().Is4():
		return network.Addr().String()
	default:
		return network.String()
	}
}

// embedded returns the IPv4 address of the client in an IPv6 address, or the IPv6 address if it contains none.
func embedded(address netip.Addr) netip.Addr {
	b := address.As16()
	last := [4]byte(b[12:])
	switch {
	case nat64.Contains(address), nat64Local.Contains(address): // a local prefix is taken to have 96 bits, as is usual
		return netip.AddrFrom4(last)
	case compatible.Contains(address) && last[0] != 0: // not :: and ::1
		return netip.AddrFrom4(last)
	case teredo.Contains(address): // the client's address outside its NAT, with inverted bits
		binary.BigEndian.PutUint32(last[:], ^binary.BigEndian.Uint32(last[:]))
		return netip.AddrFrom4(last)
	case sixToFour.Contains(address):
		return netip.AddrFrom4([4]byte(b[2:6]))
	default:
		return address
	}
}

package peers

import (
	"net"
	"net/netip"

	"github.com/headgate/headgate/core"
)

// v6Bits is the prefix length of IPv6 networks that count as one peer.
const v6Bits = 64

// group returns the address under which a peer is counted, as in a key: see [core.ClientNetwork].
func group(peer netip.Addr) netip.Addr { return core.ClientNetwork(peer, v6Bits).Addr() }

// Addr is the peer address of a [Conn]. It gives access to the connection where only the address is available: in a
// gRPC call, or if TLS wraps the connection.
type Addr struct {
	net.Addr

	conn *Conn
}

// Of returns the connection with an address. It returns nil if the address does not come from a [Conn].
func Of(a net.Addr) *Conn {
	if own, ok := a.(*Addr); ok {
		return own.conn
	}
	return nil
}

// Peer returns a peer's IP address. It returns the zero Addr if none exists, for example on a Unix socket.
func Peer(a net.Addr) netip.Addr {
	if own, ok := a.(*Addr); ok {
		a = own.Addr
	}
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	if a == nil || IsSocket(a) {
		return netip.Addr{}
	}
	address, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}

// IsSocket reports whether an address belongs to a Unix socket.
func IsSocket(a net.Addr) bool {
	if own, ok := a.(*Addr); ok {
		a = own.Addr
	}
	_, socket := a.(*net.UnixAddr)
	return socket
}

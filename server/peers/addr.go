package peers

import (
	"net"
	"net/netip"
)

// v6Bits is the length of the network by which IPv6 addresses count.
const v6Bits = 64

// group returns the address by which a peer counts.
func group(peer netip.Addr) netip.Addr {
	peer = peer.Unmap()
	if !peer.Is6() {
		return peer
	}
	network, err := peer.WithZone("").Prefix(v6Bits)
	if err != nil { // not of IPv6
		return peer
	}
	return network.Addr()
}

// Addr is the address of the peer of a [Conn]. It leads to the connection from where only the address is
// known: a call of gRPC, or a connection behind TLS.
type Addr struct {
	net.Addr

	conn *Conn
}

// Of returns the connection of an address; nil if it is not from a [Conn].
func Of(a net.Addr) *Conn {
	if own, ok := a.(*Addr); ok {
		return own.conn
	}
	return nil
}

// Peer returns the peer of an address; the zero Addr if it has none, as on a socket of this machine.
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

// IsSocket reports whether an address is that of a socket of this machine.
func IsSocket(a net.Addr) bool {
	if own, ok := a.(*Addr); ok {
		a = own.Addr
	}
	_, socket := a.(*net.UnixAddr)
	return socket
}

package wire

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// maxHops is the largest number of proxies that the search for the client skips.
const maxHops = 64

// Proxies configures which peers are trusted to name their clients, and which headers they use.
type Proxies struct {
	// Networks contains the addresses of the proxies whose X-Forwarded-For and Forwarded headers are trusted.
	Networks []netip.Prefix
	// RealIP also trusts X-Real-IP, in requests with neither of the two other headers. Set it only if every proxy in
	// Networks sets or removes that header, because most proxies forward the value that the client sent.
	RealIP bool
}

// Loopback trusts proxies on the same machine. It is the default in policies files and servers.
var Loopback = Proxies{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}

// Trusts reports whether an address belongs to a trusted proxy.
func (p Proxies) Trusts(address netip.Addr) bool {
	for _, network := range p.Networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// Peer returns the peer address of the request's connection. The peer of a Unix socket is on the same machine, so its
// address is 127.0.0.1. Peer returns the zero Addr if the request has no peer address.
func Peer(r *http.Request) netip.Addr {
	if r.RemoteAddr == "" || r.RemoteAddr[0] == '@' || r.RemoteAddr[0] == '/' { // as a Unix socket's address is written
		return unixPeer(r)
	}
	if withPort, err := netip.ParseAddrPort(r.RemoteAddr); err == nil { // the form that net/http writes
		return plain(withPort.Addr())
	}
	address, _ := parseAddress(r.RemoteAddr)
	return address
}

// unixPeer returns the address for a request whose RemoteAddr is that of a Unix socket. The name of the peer's end is
// usually empty.
func unixPeer(r *http.Request) netip.Addr {
	if _, unix := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr); unix || r.RemoteAddr != "" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.Addr{}
}

// Client returns the address of the client that sent a request with these headers. If the peer is not trusted, the peer
// is the client. If the peer is trusted, the client is the rightmost untrusted address in X-Forwarded-For. If that
// header is missing, it is the rightmost untrusted address in Forwarded or, if RealIP is set, the address in X-Real-IP.
// An entry that is not an address ends the search at the address to its right.
func (p Proxies) Client(peer netip.Addr, h http.Header) netip.Addr {
	peer = plain(peer)
	if !p.Trusts(peer) {
		return peer
	}
	if lines := h["X-Forwarded-For"]; len(lines) > 0 {
		return p.last(peer, lines, func(entry string) string { return entry })
	}
	if lines := h["Forwarded"]; len(lines) > 0 {
		return p.last(peer, lines, forwardedFor)
	}
	if p.RealIP {
		if address, ok := parseAddress(h.Get("X-Real-IP")); ok {
			return address
		}
	}
	return peer
}

// last follows the entries of a header from right to left, past trusted proxies, and returns the last address that it
// reaches.
func (p Proxies) last(client netip.Addr, lines []string, read func(entry string) string) netip.Addr {
	hops := 0
	for _, line := range slices.Backward(lines) {
		for rest, more := line, true; more; hops++ {
			var entry string
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, entry = rest[:at], rest[at+1:]
			} else {
				entry, more = rest, false
			}
			address, ok := parseAddress(read(strings.TrimSpace(entry)))
			if !ok || hops == maxHops {
				return client
			}
			if client = address; !p.Trusts(client) {
				return client
			}
		}
	}
	return client
}

// forwardedFor returns the address in one element of Forwarded, such as
// for="[2001:db8::1]:4711";proto=https.
func forwardedFor(element string) string {
	for pair := range strings.SplitSeq(element, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// parseAddress reads an address with or without a port.
func parseAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if address, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return plain(address), true
	}
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return plain(withPort.Addr()), true
	}
	return netip.Addr{}, false
}

// plain returns an address without its zone. It converts an IPv4-mapped IPv6 address to IPv4.
func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

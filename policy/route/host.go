package route

import (
	"net"
	"net/netip"
	"strings"

	"github.com/headgate/headgate/engine"
)

const hostAccepted = `a host without a port, such as api.example.com, or *.example.com for all hosts below it`

// maxHost is the maximum length of a host name in DNS.
const maxHost = 253

// isHost reports whether text is a host as it appears in a request: a name or an address, optionally followed by a
// colon and any number of digits, even none. An IPv6 address is in brackets. The empty string is also valid.
func isHost(text string) bool {
	name, port, _ := strings.Cut(text, ":")
	switch {
	case text == "":
		return true
	case strings.HasPrefix(text, "["):
		end := strings.LastIndexByte(text, ']')
		if end < 0 || end+1 < len(text) && text[end+1] != ':' {
			return false
		}
		address, err := netip.ParseAddr(text[1:end])
		if err != nil || !address.Is6() {
			return false
		}
		name, port = "", strings.TrimPrefix(text[end+1:], ":")
	case name == "" || name[0] == '.' || strings.Contains(name, ".."): // an empty label
		return false
	}
	return len(name) <= maxHost+1 && !strings.ContainsFunc(name, notInName) && strings.Trim(port, "0123456789") == ""
}

// notInName reports whether a character is not allowed in a host name.
func notInName(c rune) bool {
	return c < 0x80 && c != '-' && c != '.' && c != '_' && (c < '0' || '9' < c) && (c < 'a' || 'z' < c) && (c < 'A' || 'Z' < c)
}

// normalHost returns a host in lower case, without its port and trailing dot. An IPv6 address is returned in netip's
// form, without brackets.
func normalHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if strings.Contains(host, ":") {
		if address, err := netip.ParseAddr(host); err == nil {
			return address.String()
		}
	}
	for i := range len(host) {
		if c := host[i]; 'A' <= c && c <= 'Z' {
			return strings.ToLower(host)
		}
	}
	return host
}

// Host is the host of a route. The zero value matches any host.
type Host struct {
	name string // without the leading *
	sub  bool   // all hosts below the name, but not the name itself
}

// ParseHost parses a host or a pattern such as *.example.com.
func ParseHost(text string) (Host, error) {
	name, sub := strings.CutPrefix(text, "*.")
	_, notIP := netip.ParseAddr(strings.Trim(name, "[]"))
	if name == "" || len(name) > maxHost || strings.ContainsAny(name, "*/ ?#@") ||
		notIP != nil && (strings.Contains(name, ":") || strings.Contains(name, "..") || name[0] == '.') || sub && notIP == nil {
		return Host{}, engine.InvalidInput("host", engine.Quote(text), hostAccepted)
	}
	return Host{name: normalHost(name), sub: sub}, nil
}

// String returns the host as written, or "" for any host.
func (h Host) String() string {
	if h.sub {
		return "*." + h.name
	}
	return h.name
}

func (h Host) match(host string) bool {
	switch {
	case h.name == "":
		return true
	case h.sub:
		return len(host) > len(h.name)+1 && strings.HasSuffix(host, h.name) && host[len(host)-len(h.name)-1] == '.'
	default:
		return host == h.name
	}
}

package route

import (
	"net/netip"
	"strings"

	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/policy/keyhash"
)

// MayCount reports whether a request with the charge can be counted under the given key. If the key contains *, it is
// a pattern, and MayCount reports whether the request can be counted under a key that matches it. Hashed keys, which
// start with hmac: or sha256:, can belong to any request.
func (c *Charge) MayCount(key string) bool {
	if strings.HasPrefix(key, keyhash.Prefix) || strings.HasPrefix(key, core.HashPrefix) {
		return true
	}
	if len(c.Key) == 1 {
		return c.Key[0].mayBe(key)
	}
	if strings.Contains(key, "*") {
		return true
	}
	parts := split(key)
	if len(parts) != len(c.Key) {
		return false
	}
	for i := range parts {
		if !c.Key[i].mayBe(parts[i]) {
			return false
		}
	}
	return true
}

// mayBe reports whether the part can have this value, or a value that matches this pattern with *.
func (p *Part) mayBe(value string) bool {
	switch pattern := strings.Contains(value, "*"); {
	case value == "" || p.spelled(value) != value:
		return false
	case p.From == FromConst:
		return pattern || value == p.Name
	case p.From == FromClient && pattern:
		return strings.Trim(value, "0123456789abcdef.:/*") == ""
	case p.From == FromClient:
		return p.isClient(value)
	default:
		return true
	}
}

// spelled returns a value as keys have it: in lower case, without white space around it, and of Authorization in one
// spelling (regression: bug 256).
func (p *Part) spelled(value string) string {
	switch {
	case p.From == FromBearer && strings.ContainsAny(value, " \t"):
		_, value, _ = core.Credential(value)
	case p.From == FromHeader && strings.EqualFold(p.Name, "Authorization"):
		value, _ = core.Authorization(value)
	}
	return p.changed(value)
}

// isClient reports whether text is an IPv4 address, or an IPv6 network of the part's size.
func (p *Part) isClient(text string) bool {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Is4()
	}
	network, err := netip.ParsePrefix(text)
	return err == nil && network.Addr().Is6() && core.ClientKey(network.Addr(), p.V6Prefix) == text
}

// split splits a key into the parts joined by headgate.Key.
func split(key string) []string {
	parts := []string{""}
	for escaped, rest := false, key; rest != ""; rest = rest[1:] {
		switch c := rest[0]; {
		case c == '\\' && !escaped:
			escaped = true
			continue
		case c == ':' && !escaped:
			parts = append(parts, "")
		default:
			parts[len(parts)-1] += rest[:1]
		}
		escaped = false
	}
	return parts
}

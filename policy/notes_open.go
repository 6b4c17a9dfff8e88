package policy

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/policy/route"
)

// proxyNotes reports trusted proxies that are more than a private network, so that clients are among them.
func (c *Config) proxyNotes() []string {
	var wide []string
	for _, network := range c.Routes.Proxies().Networks {
		if network.Bits() < 7 || network.Bits() < 8 && network.Addr().Is4() { // 10.0.0.0/8, fc00::/7
			wide = append(wide, fmt.Sprintf("trusted_proxies has %s, so a client can claim any address, and leave a limit by client_ip: list the addresses of the proxies", network))
		}
	}
	return firstNotes(wide, "%d more networks of trusted_proxies contain clients")
}

// conditionNotes reports conditions on what no request has, so that they do not hold, and those that a client leaves by a
// body of unknown size.
func conditionNotes(routes []route.Route) []string {
	var all []string
	for i := range routes {
		when := routes[i].Match.When
		for _, name := range when.NoHeaders() {
			all = append(all, fmt.Sprintf("route %d reads request.headers[%q], which no request has: names are in lower case there, and the host is request.host", i, name))
		}
		for _, c := range when.NoTexts() {
			all = append(all, fmt.Sprintf("route %d compares %s with %q, which no request has: it would be %q", i, c[0], c[1], c[2]))
		}
		if when.MissesUnknown() {
			all = append(all, fmt.Sprintf("route %d does not match a chunked body, nor any body in authorize, for which request.size is -1: add || request.size < 0, unless another route limits them", i))
		}
	}
	return firstNotes(all, "%d more conditions do not hold where they seem to")
}

// freeNotes reports charges of 0 units, which always pass.
func (c *Config) freeNotes(routes []route.Route) []string {
	var all []string
	for i := range routes {
		for _, charge := range routes[i].Charges {
			for _, name := range charge.Policies {
				p, ok := c.Policies.Get(name)
				if cost := charge.Cost; ok && cost.Header == "" && (cost.Set && cost.Units == 0 || !cost.Set && p.Cost == 0) {
					all = append(all, fmt.Sprintf("route %d charges policy %s 0 units, so the policy denies none of its requests", i, name))
				}
			}
		}
	}
	return firstNotes(all, "%d more charges are of 0 units")
}

// literalNotes reports segments of paths that name a parameter in another program's syntax. They match only their text.
func literalNotes(routes []route.Route) []string {
	var all []string
	for i := range routes {
		for segment := range strings.SplitSeq(routes[i].Match.Path.String(), "/") {
			if segment != "" && strings.ContainsRune(":<([^$", rune(segment[0])) {
				all = append(all, fmt.Sprintf("route %d has the segment %s, which matches only this text: {name} and * match any segment", i, segment))
			}
		}
	}
	return firstNotes(all, "%d more segments of paths match only their text")
}

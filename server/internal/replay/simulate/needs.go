package simulate

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// Needs returns the fields that a log must contain for a policies file's routes. The argument name is the file's name
// in errors.
func Needs(c *policy.Config, name string) (needs []accesslog.Need) {
	routes := c.Routes.Routes()
	for i := range routes {
		r := &routes[i]
		by := fmt.Sprintf("route %d", i)
		if r.Line > 0 {
			by += fmt.Sprintf(" (%s:%d)", name, r.Line)
		}
		add := func(kind accesslog.Kind, field string) {
			needs = append(needs, accesslog.Need{Kind: kind, Name: field, By: by, Proxies: c.Routes.Proxies()})
		}
		from := len(needs)
		needsOfMatch(&r.Match, add)
		for j := range r.Charges {
			charge := &r.Charges[j]
			for k := range charge.Key {
				needsOfPart(&charge.Key[k], add)
			}
			if charge.Cost.Header != "" {
				add(accesslog.Head, charge.Cost.Header)
			}
		}
		ofClient := func(n accesslog.Need) bool { return n.Kind == accesslog.Client }
		if slices.ContainsFunc(needs[from:], ofClient) && behindProxies(c.Routes.Proxies()) {
			needs = append(needs, forwarded(c.Routes.Proxies(), by))
		}
	}
	return needs
}

// behindProxies reports whether the file trusts proxies on other machines. The peers in the log are then these proxies,
// and all requests through a proxy would be one client's if the log did not have the header with its clients.
func behindProxies(p route.Proxies) bool {
	return slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool { return !n.Addr().IsLoopback() })
}

// forwarded returns the need for a header in which a proxy names its client.
func forwarded(p route.Proxies, by string) accesslog.Need {
	n := accesslog.Need{Kind: accesslog.Head, Name: "X-Forwarded-For", Or: []string{"Forwarded"}, By: by + ", with trusted_proxies,"}
	if p.RealIP {
		n.Or = append(n.Or, "X-Real-Ip")
	}
	return n
}

func needsOfMatch(m *route.Conditions, add func(kind accesslog.Kind, field string)) {
	if m.Host.String() != "" {
		add(accesslog.Host, "")
	}
	if len(m.Methods) > 0 {
		add(accesslog.Method, "")
	}
	for i := range m.Headers {
		name, _, _ := strings.Cut(m.Headers[i].String(), "=") // header names cannot contain =
		add(accesslog.Head, name)
	}
	if len(m.Query) > 0 {
		add(accesslog.Query, "")
	}
	if len(m.Clients) > 0 {
		add(accesslog.Client, "")
	}
	if m.When != nil {
		needsOfWhen(m.When.String(), add)
	}
}

func needsOfPart(p *route.Part, add func(kind accesslog.Kind, field string)) {
	switch p.From {
	case route.FromClient:
		add(accesslog.Client, "")
	case route.FromHeader, route.FromJWT, route.FromBearer:
		add(accesslog.Head, p.Name)
	case route.FromCookie:
		add(accesslog.Cookie, p.Name)
	case route.FromQuery:
		add(accesslog.Query, "")
	}
}

// headerInWhen matches header names in a CEL condition: request.headers["x-plan"], request.headers.plan and "x-plan"
// in request.headers.
var headerInWhen = regexp.MustCompile(`request\.headers\s*\[\s*['"]([^'"]+)['"]|request\.headers\.([A-Za-z0-9_]+)|['"]([^'"]+)['"]\s+in\s+request\.headers`)

func needsOfWhen(when string, add func(kind accesslog.Kind, field string)) {
	for variable, kind := range map[string]accesslog.Kind{
		"request.method": accesslog.Method, "request.host": accesslog.Host, "request.query": accesslog.Query,
		"request.size": accesslog.Size, "request.client": accesslog.Client,
	} {
		if strings.Contains(when, variable) {
			add(kind, "")
		}
	}
	for _, found := range headerInWhen.FindAllStringSubmatch(when, -1) {
		add(accesslog.Head, found[1]+found[2]+found[3])
	}
}

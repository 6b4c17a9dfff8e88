package policy

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// These constants describe the accepted values of a route's fields.
const (
	keyAccepted      = "1 to 8"
	chargesAccepted  = "1 to 32"
	policiesAccepted = "1 to 32"
	prefixAccepted   = "an address or a network, such as 10.0.0.0/8"
	emptyKeyAccepted = "deny, skip"
	statusAccepted   = "400 to 499"
	v6Accepted       = "1 to 128"
	partAccepted     = "one of path, header, client_ip, cookie, query, jwt, bearer, const"
)

// routes builds the table of routes and reports all errors.
func (f *file) routes(set *Set, b *builder, report func(error)) *route.Table {
	proxies := route.Loopback
	if f.TrustedProxies != nil {
		proxies.Networks = readPrefixes(f.TrustedProxies, func(err error) { report(atField(err, "trusted_proxies")) })
	}
	proxies.RealIP = f.RealIP
	upstreams := f.upstreams(report)
	all := make([]route.Route, len(f.Routes))
	for i := range f.Routes {
		r := routeReader{fields: &f.Routes[i], set: set, builder: b, upstreams: upstreams, report: func(err error) {
			report(atField(err, "routes", strconv.Itoa(i)))
		}}
		all[i] = r.read()
	}
	return route.New(all, proxies)
}

// routeReader builds one route from its fields.
type routeReader struct {
	fields    *routeFields
	set       *Set
	builder   *builder
	upstreams map[string]*route.Upstream
	report    func(error)
	badPath   bool    // match.path is invalid, so its segments are unknown
	choosing  *Policy // the policy with choices that a charge uses
}

// try reports an error in a field. Errors from package route contain the field but not its path.
func (r *routeReader) try(err error, path ...string) {
	if err != nil {
		r.report(atField(err, path...))
	}
}

func (r *routeReader) read() route.Route {
	to := route.Route{Line: r.fields.line}
	to.Match = r.conditions(&r.fields.Match)
	to.Upstream = r.upstream()
	to.RefundOnError = r.fields.RefundOnError != nil && *r.fields.RefundOnError
	to.Charges = r.charges(&to.Match.Path)
	if c := r.fields.Class; c != nil && !c.broken {
		var err error
		to.Class, err = c.class(r)
		r.try(err)
	}
	if word := r.fields.EmptyKey; word != nil {
		to.Skip = *word == "skip"
		if *word != "skip" && *word != "deny" {
			r.try(invalidWord("empty_key", *word, emptyKeyAccepted))
		}
	}
	if status := r.fields.EmptyKeyStatus; status != nil {
		to.EmptyKeyStatus = int(*status)
		switch {
		case *status < 400 || *status > 499:
			r.try(invalid("empty_key_status", strconv.FormatInt(*status, 10), statusAccepted))
		case to.Skip:
			r.try(invalid("empty_key_status", "set", "empty_key: deny, or no empty_key_status"))
		}
	}
	return to
}

func (r *routeReader) conditions(m *matchFields) (to route.Conditions) {
	var err error
	if m.Host != nil {
		to.Host, err = route.ParseHost(*m.Host)
		r.try(err, "match", "host")
	}
	if m.Path != nil {
		to.Path, err = route.ParsePath(*m.Path)
		r.badPath = err != nil
		r.try(err, "match", "path")
	}
	for i, method := range m.Method {
		if to.Methods = append(to.Methods, method); !route.IsToken(method) || strings.ToUpper(method) != method {
			r.try(atField(&engine.InputError{Field: "method", Value: engine.Quote(method), Accepted: "a method in capital letters, such as GET"}, "match", "method", strconv.Itoa(i)))
		}
	}
	if m.Method != nil && len(m.Method) == 0 {
		r.try(atField(invalid("method", "empty", "one or more methods, or no field method"), "match"))
	}
	for _, name := range sortedKeys(m.Header) {
		value, err := route.HeaderValue(name, m.Header[name])
		if strings.EqualFold(name, "Host") {
			err = &engine.InputError{Field: "header", Value: engine.Quote(name), Accepted: "match.host for the host"}
		}
		r.try(err, "match", "header", name)
		to.Headers = append(to.Headers, value)
	}
	for _, name := range sortedKeys(m.Query) {
		to.Query = append(to.Query, route.QueryValue(name, m.Query[name]))
	}
	to.Clients = readPrefixes(m.Client, func(err error) { r.try(err, "match", "client") })
	if m.Client != nil && len(m.Client) == 0 {
		r.try(atField(invalid("client", "empty", "one or more networks, or no field client"), "match"))
	}
	if m.When != nil {
		to.When, err = route.CompileWhen(*m.When)
		r.try(err, "match", "when")
	}
	return to
}

// readPrefixes parses networks and reports invalid ones.
func readPrefixes(texts []string, report func(error)) (all []netip.Prefix) {
	all = make([]netip.Prefix, 0, len(texts))
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, notAddress := netip.ParseAddr(text); notAddress == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || prefix.Addr().Is4In6() {
			report(atField(&engine.InputError{Field: "network", Value: engine.Quote(text), Accepted: prefixAccepted}, strconv.Itoa(i)))
			continue
		}
		if prefix.Masked() != prefix {
			report(atField(&engine.InputError{Field: "network", Value: engine.Quote(text) + " with bits beyond its length", Accepted: prefix.Masked().String()}, strconv.Itoa(i)))
			continue
		}
		all = append(all, prefix)
	}
	return all
}

package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/route"
)

// What the fields of a route accept.
const (
	keyAccepted      = "1 to 8"
	policiesAccepted = "1 to 32"
	prefixAccepted   = "an address or a network, such as 10.0.0.0/8"
	emptyKeyAccepted = "deny, skip"
	statusAccepted   = "400 to 499"
	v6Accepted       = "1 to 128"
	partAccepted     = "one of path, header, client_ip, cookie, query, jwt, const"
)

// routes builds the table of routes and reports every error.
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

// routeReader makes one route of its fields.
type routeReader struct {
	fields    *routeFields
	set       *Set
	builder   *builder
	upstreams map[string]*route.Upstream
	report    func(error)
	badPath   bool // match.path had an error, so its segments are not known
}

// try reports an error of a field. Errors of package route name the field, but not the
// path to it.
func (r *routeReader) try(err error, path ...string) {
	if err != nil {
		r.report(atField(err, path...))
	}
}

func (r *routeReader) read() route.Route {
	to := route.Route{Line: r.fields.line, Policies: r.fields.Policies}
	to.Match = r.conditions(&r.fields.Match)
	noPath := r.badPath || r.fields.broken && r.fields.Match.Path == nil
	to.Upstream = r.upstream()
	to.RefundOnError = r.fields.RefundOnError != nil && *r.fields.RefundOnError
	if n := len(r.fields.Key); n < 1 && !r.fields.broken || n > 8 {
		r.try(invalid("key", strconv.Itoa(n)+" parts", keyAccepted+"; {const: all} counts all requests together"))
	}
	for i := range r.fields.Key {
		if key := &r.fields.Key[i]; key.broken || key.Path != nil && noPath {
			continue // an error of its own, or of the path that has its segment, was reported
		}
		part, err := r.fields.Key[i].part(&to.Match.Path)
		r.try(err, "key", strconv.Itoa(i))
		to.Key = append(to.Key, part)
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
	if r.fields.Cost != nil && !r.fields.Cost.broken {
		cost, err := r.fields.Cost.cost()
		r.try(err)
		to.Cost = cost
	}
	r.policies()
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
			r.try(atField(&headgate.InputError{Field: "method", Value: format.Quote(method), Accepted: "a method in capital letters, such as GET"}, "match", "method", strconv.Itoa(i)))
		}
	}
	if m.Method != nil && len(m.Method) == 0 {
		r.try(atField(invalid("method", "empty", "one or more methods, or no field method"), "match"))
	}
	for _, name := range sortedKeys(m.Header) {
		value, err := route.HeaderValue(name, m.Header[name])
		if strings.EqualFold(name, "Host") {
			err = &headgate.InputError{Field: "header", Value: format.Quote(name), Accepted: "match.host for the host"}
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

// policies checks the names of the policies, and that one request can be charged on all.
func (r *routeReader) policies() {
	names := r.fields.Policies
	if len(names) < 1 && !r.fields.broken || len(names) > engine.MaxCharges {
		r.try(invalid("policies", strconv.Itoa(len(names))+" names", policiesAccepted))
	}
	var charges []Charge
	for i, name := range names {
		p, ok := r.set.Get(name)
		switch {
		case !ok:
			r.try(&headgate.InputError{Field: "policy", Value: format.Quote(name), Accepted: "the name of a policy in this file" + r.builder.didYouMean(name, r.set.names)}, "policies", strconv.Itoa(i))
		case slices.Index(names, name) < i:
			r.try(&headgate.InputError{Field: "policy", Value: format.Quote(name) + " twice", Accepted: "each policy once"}, "policies", strconv.Itoa(i))
		default:
			charges = p.Charges(charges, "", 1)
			if slices.ContainsFunc(p.members, func(m member) bool { return holds(m.limit) }) {
				r.try(&headgate.InputError{Field: "policy", Value: format.Quote(name) + " with a concurrency limit", Accepted: "policies whose units are taken; units of this one are held, with acquire and release"}, "policies", strconv.Itoa(i))
			}
			if cost := r.fields.Cost; cost != nil && cost.number != nil && *cost.number <= maxUnits && *cost.number >= 0 {
				r.try(p.checkCost(*cost.number))
			}
		}
	}
	if n := len(distinctCharges(charges)); n > engine.MaxCharges {
		r.try(invalid("policies", strconv.Itoa(n)+" limits", "policies with at most 32 limits together"))
	}
}

// readPrefixes reads networks and reports those that are none.
func readPrefixes(texts []string, report func(error)) (all []netip.Prefix) {
	all = make([]netip.Prefix, 0, len(texts))
	for i, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if address, notAddress := netip.ParseAddr(text); notAddress == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		if err != nil || prefix.Addr().Is4In6() {
			report(atField(&headgate.InputError{Field: "network", Value: format.Quote(text), Accepted: prefixAccepted}, strconv.Itoa(i)))
			continue
		}
		if prefix.Masked() != prefix {
			report(atField(&headgate.InputError{Field: "network", Value: format.Quote(text) + " with bits beyond its length", Accepted: prefix.Masked().String()}, strconv.Itoa(i)))
			continue
		}
		all = append(all, prefix)
	}
	return all
}

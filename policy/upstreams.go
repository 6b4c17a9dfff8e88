package policy

import (
	"strconv"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy/route"
)

// MaxUpstreams is how many upstreams a file can have: each has counters of its own.
const MaxUpstreams = 1000

const upstreamsAccepted = "up to 1000 upstreams"

// upstreams reads the upstreams of the file and reports every error. An upstream with an
// error is in the map all the same: the routes that name it are right.
func (f *file) upstreams(report func(error)) map[string]*route.Upstream {
	all := make(map[string]*route.Upstream, len(f.Upstreams))
	if n := len(f.Upstreams); n > MaxUpstreams {
		report(invalid("upstreams", strconv.Itoa(n)+" upstreams", upstreamsAccepted))
	}
	for _, name := range sortedKeys(f.Upstreams) {
		if engine.CheckPolicyName(name) != nil {
			report(atField(&headgate.InputError{Field: "name", Value: format.Quote(name), Accepted: "1 to 64 of A-Z a-z 0-9 _ . -"}, "upstreams", name))
		}
		u, err := route.ParseUpstream(name, f.Upstreams[name].url)
		if err != nil && !f.Upstreams[name].broken {
			report(atField(err, "upstreams", name))
		}
		all[name] = u
	}
	return all
}

// upstream returns the upstream that the route names; nil if it names none.
func (r *routeReader) upstream() *route.Upstream {
	name := r.fields.Upstream
	if name == nil {
		return nil
	}
	u, ok := r.upstreams[*name]
	if !ok {
		r.try(invalid("upstream", format.Quote(*name), "the name of one of upstreams"+r.builder.didYouMean(*name, sortedKeys(r.upstreams))))
	}
	return u
}

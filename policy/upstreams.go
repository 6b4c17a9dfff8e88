package policy

import (
	"strconv"

	"github.com/headgate/headgate/adaptive"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/policy/route"
)

// MaxUpstreams is the maximum number of upstreams in a file. Each has its own counters.
const MaxUpstreams = 1000

const upstreamsAccepted = "up to 1000 upstreams"

// upstreams builds the file's upstreams and reports all errors. An invalid upstream stays in the map, because the
// routes that name it are valid.
func (f *file) upstreams(report func(error)) map[string]*route.Upstream {
	all := make(map[string]*route.Upstream, len(f.Upstreams))
	if n := len(f.Upstreams); n > MaxUpstreams {
		report(invalid("upstreams", strconv.Itoa(n)+" upstreams", upstreamsAccepted))
	}
	for _, name := range sortedKeys(f.Upstreams) {
		if engine.CheckPolicyName(name) != nil {
			report(atField(&engine.InputError{Field: "name", Value: engine.Quote(name), Accepted: "1 to 64 of A-Z a-z 0-9 _ . -"}, "upstreams", name))
		}
		fields := f.Upstreams[name]
		u, err := route.ParseUpstream(name, fields.URL)
		if err == nil && fields.InFlight != nil {
			u.InFlight, err = fields.InFlight.config()
		}
		if err != nil && !fields.broken {
			report(atField(err, "upstreams", name))
		}
		all[name] = u
	}
	return all
}

// config returns the settings of the upstream's limit on requests in flight.
func (f *inFlightFields) config() (*adaptive.Config, error) {
	c := adaptive.Config{DryRun: f.DryRun != nil && *f.DryRun}
	for _, field := range []struct {
		name string
		of   *int64
		to   *int
	}{{"min", f.Min, &c.Min}, {"max", f.Max, &c.Max}} {
		if field.of != nil {
			*field.to = int(min(max(*field.of, 0), adaptive.MaxLimit+1))
		}
	}
	if f.Latency != nil {
		var err error
		if c.Latency, err = engine.ParseSpan(*f.Latency); err != nil {
			return nil, atField(err, "in_flight", "latency")
		}
	}
	if _, err := adaptive.NewController(c); err != nil {
		return nil, atField(atOwnField(err), "in_flight")
	}
	return &c, nil
}

// upstream returns the upstream named by the route, or nil.
func (r *routeReader) upstream() *route.Upstream {
	name := r.fields.Upstream
	if name == nil {
		return nil
	}
	u, ok := r.upstreams[*name]
	if !ok {
		r.try(invalidMeant("upstream", *name, r.builder.nearest(*name, sortedKeys(r.upstreams)), "the name of one of upstreams"))
	}
	return u
}

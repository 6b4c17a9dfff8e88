package policy

import (
	"reflect"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// What fields of the file accept, for error messages and for the schema.
const (
	unitsAccepted   = "1 to 4294967295"
	costAccepted    = "0 to 4294967295"
	allAccepted     = "1 to 32"
	failureAccepted = "deny, allow"
	modeAccepted    = "exact, leased"
	headersAccepted = "draft, draft-03, x-ratelimit, off"
)

// descriptions describe the fields of a file that are not in the table engine.Fields,
// by the struct that they are decoded into, in the form of that table.
var descriptions = map[reflect.Type][]engine.Field{
	reflect.TypeFor[file](): {
		{Name: "policies", About: "The policies by name. A name has 1 to 64 of A-Z a-z 0-9 _ . - and begins with a letter, a digit or _."},
		{Name: "overrides", About: "Other limits for some keys of a policy."},
		{Name: "listeners", About: "The addresses that the server listens on."},
		{Name: "store", About: "Where limits are kept."},
	},
	reflect.TypeFor[policyBody](): {
		{Name: "failure", Accepted: failureAccepted, About: "The answer to a take or peek when the decision is not known: an error (deny, the default), or an allowed decision marked fallback."},
		{Name: "mode", Accepted: modeAccepted, About: "leased lets the server take units of hot keys from Redis ahead. By default exact."},
		{Name: "headers", Accepted: headersAccepted, About: "The form of the rate-limit headers in HTTP answers. By default draft."},
		{Name: "cost", Accepted: costAccepted, About: "The units that a request costs that names no cost. By default 1."},
		{Name: "shadow", About: "true decides and counts, and never denies."},
		{Name: "enabled", About: "false allows everything and counts nothing."},
	},
	reflect.TypeFor[LimitFields](): {
		{Name: "algorithm", Accepted: strings.Join(allNames(), ", "), About: "How units are counted."},
		{Name: "rate", About: "A count per period, such as 100/s, 5/1m or 30/60s. Token buckets and pacers have it."},
		{Name: "limit", Accepted: unitsAccepted, About: "How many units pass in a window."},
		{Name: "window", About: "How long a window is, such as 1m, 1d or 1w; with a time zone in align also 1mo and 1y."},
		{Name: "deny", About: "true denies everything. It replaces the algorithm."},
		{Name: "unlimited", About: "true allows everything. It replaces the algorithm."},
		{Name: "all", Accepted: allAccepted, About: "Several limits, all or nothing. Each is the fields or the text of a limit, or the name of another policy."},
	},
	reflect.TypeFor[WindowFields](): {
		{Name: "limit", Accepted: unitsAccepted, About: "How many units pass in this window."},
		{Name: "window", About: "How long this window is."},
	},
	reflect.TypeFor[overrideFields](): {
		{Name: "policy", About: "The name of a policy with one limit."},
		{Name: "key", About: "A key of 1 to 1024 bytes, or a pattern in which * stands for any bytes."},
		{Name: "set", About: "Fields that replace those of the policy's limit. Another algorithm replaces all of them but the name."},
		{Name: "deny", About: "true denies the key everything."},
		{Name: "unlimited", About: "true allows the key everything."},
	},
	reflect.TypeFor[listenersFields](): {
		{Name: "resp", About: "The Redis protocol. The flag --resp takes precedence."},
		{Name: "http", About: "HTTP. The flag --http takes precedence."},
	},
	reflect.TypeFor[listenerFields](): {
		{Name: "address", About: "A host and a port, such as 127.0.0.1:6380, or off."},
	},
	reflect.TypeFor[storeFields](): {
		{Name: "url", About: "memory, or the URL of a Redis. The flag --store takes precedence."},
		{Name: "password_file", About: "A file with the password of the Redis. The flag --store-password-file takes precedence."},
	},
}

// described returns the description of a field of a struct.
func described(t reflect.Type, name string) (engine.Field, bool) {
	return fieldNamed(descriptions[t], name)
}

// limitField returns the field of a limit from the table in package engine.
func limitField(name string) (engine.Field, bool) { return fieldNamed(engine.Fields(), name) }

func fieldNamed(fields []engine.Field, name string) (engine.Field, bool) {
	i := slices.IndexFunc(fields, func(f engine.Field) bool { return f.Name == name })
	if i < 0 {
		return engine.Field{}, false
	}
	return fields[i], true
}

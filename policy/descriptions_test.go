package policy

import (
	"iter"
	"reflect"
	"slices"

	"github.com/headgate/headgate/engine"
)

// descriptions describes the fields of a file that are not in the table engine.Fields, in the form of that table.
// Fields are grouped by the struct into which they are decoded.
var descriptions = map[reflect.Type][]engine.Field{
	reflect.TypeFor[file](): {
		{Name: "policies", About: "The policies by name. A name has 1 to 64 of A-Z a-z 0-9 _ . - and begins with a letter, a digit or _."},
		{Name: "overrides", About: "Other limits for some keys of a policy."},
		{Name: "trusted_proxies", About: "Addresses and networks of proxies whose X-Forwarded-For is trusted. By default the machine itself, 127.0.0.0/8 and ::1. An empty list trusts no proxy."},
		{Name: "x_real_ip", About: "Also trusts X-Real-IP from these proxies, for requests without X-Forwarded-For and Forwarded. Set it only if every trusted proxy sets or removes the header. A proxy that forwards the client's header lets clients choose their address."},
		{Name: "routes", About: "The policies that charge each HTTP request. The first route that matches applies."},
		{Name: "upstreams", About: "The servers to which the gateway forwards, by name: http://, https:// or h2c:// (HTTP/2 in clear text), a host, and optionally a port and a path. The path is prepended to the path of each request. Names have the same form as names of policies."},
		{Name: "listeners", About: "The addresses that the server listens on."},
		{Name: "store", About: "The store for the counters."},
	},
	reflect.TypeFor[classFields](): {
		{Name: "name", About: "The name of the class. It has the same form as the name of a policy."},
		{Name: "weight", Accepted: weightAccepted, About: "The weight of the class's keys under a limit that divides its units among keys, such as fair-share: a key of weight 3 can have three times as much as a key of weight 1, while both ask for more. By default the limit's own weight."},
		{Name: "leaves", About: "How much must remain after a request of the class: a percentage of each capacity, such as 10%, rounded up, or a number of units. By default 0."},
	},
	reflect.TypeFor[LimitFields](): {
		{Name: "all", Accepted: allAccepted, About: "Several limits, all or nothing. Each is the fields or the text of a limit, or the name of another policy."},
		{Name: "first", Accepted: allAccepted, About: "Several limits, as in all. Only the first that has room is charged."},
	},
	reflect.TypeFor[WindowFields](): {
		{Name: "limit", Accepted: unitsAccepted, About: "The number of units that pass in this window."},
		{Name: "window", About: "The length of this window."},
	},
	reflect.TypeFor[overrideFields](): {
		{Name: "policy", About: "The name of a policy. If the policy has all or first, deny and unlimited replace all its limits."},
		{Name: "key", About: "A key of 1 to 1024 bytes, or a pattern, where * matches any bytes."},
		{Name: "set", About: "Fields that replace the same fields of the policy's limit. With algorithm, they replace the whole limit except its name. Not for a policy with all or first."},
		{Name: "class", About: "The class of the key's requests, whatever class they name. Use it alone or with set."},
		{Name: "deny", About: "true denies every request of the key."},
		{Name: "unlimited", About: "true admits every request of the key."},
	},
	reflect.TypeFor[routeFields](): {
		{Name: "match", About: "The conditions for a request. All must hold. A route without conditions matches every request."},
		{Name: "charge", Accepted: chargesAccepted, About: "The charges of a request with several keys or costs, all or nothing. It replaces key, policies and cost."},
		{Name: "key", Accepted: keyAccepted, About: "The parts of the key, in order. Different parts make different keys."},
		{Name: "empty_key", Accepted: emptyKeyAccepted, About: "How to handle a request that lacks a part of a key: deny it (deny, the default), or try the next routes (skip)."},
		{Name: "empty_key_status", Accepted: statusAccepted, About: "The status for a request that is denied because it lacks a part of a key. By default 400."},
		{Name: "cost", About: "The cost of a request in units: a number, or a header that contains it. By default each policy's cost."},
		{Name: "policies", Accepted: policiesAccepted, About: "The names of the policies that charge a request, all or nothing. A limit that several of them contain is charged once."},
		{Name: "class", About: "The class of the requests: a name, or a header that contains it. Only trusted proxies can set the header. By default the last class of each policy."},
		{Name: "upstream", About: "The name of the upstream to which the gateway forwards the requests. By default the upstream of the flag --upstream."},
		{Name: "refund_on_error", About: "With true, the gateway gives the units back if the upstream fails before it sends the header of its answer. By default false."},
	},
	reflect.TypeFor[upstreamFields](): {
		{Name: "url", About: "The URL, in the same form as an upstream without other fields."},
		{Name: "in_flight", About: "Bounds the gateway's concurrent requests to the upstream, by a limit that follows their latency. Requests above the limit are answered with 503."},
	},
	reflect.TypeFor[inFlightFields](): {
		{Name: "min", Accepted: "1 to 1000000", About: "The lowest limit."},
		{Name: "max", Accepted: "1 to 1000000", About: "The highest limit, even in a burst."},
		{Name: "latency", About: "The longest acceptable time until the upstream's answer begins, 1ms to 1m. Use three to four times the latency of an idle upstream."},
		{Name: "dry_run", About: "If true, the requests above the limit are only counted."},
	},
	reflect.TypeFor[chargeFields](): {
		{Name: "policy", About: "The name of the policy. A policy can appear in several charges. Its charges under the same key become one charge with the sum of their costs."},
		{Name: "key", Accepted: keyAccepted, About: "The parts of the key, in order. Different parts make different keys."},
		{Name: "cost", About: "The cost of a request in units: a number, or a header that contains it. By default the policy's cost."},
	},
	reflect.TypeFor[matchFields](): {
		{Name: "host", About: "A host such as api.example.com, or *.example.com for all its subdomains. Case and port are ignored."},
		{Name: "path", About: "A path such as /v1/users/{id}/**. {id} and * match one segment. ** at the end matches any number of segments."},
		{Name: "method", About: "A list of methods. GET also matches HEAD."},
		{Name: "header", About: "Headers with their values, where * matches any bytes; * alone requires that the header is present."},
		{Name: "query", About: "Fields of the query with their values, where * matches any bytes."},
		{Name: "client", About: "Addresses and networks. The client must be in one of them."},
		{Name: "when", About: "A condition in CEL over request.method, request.host, request.path, request.query, request.headers, request.size and request.client. If it has an error, the route does not match."},
	},
	reflect.TypeFor[keyFields](): {
		{Name: "path", About: "The name of a segment of match.path, such as id."},
		{Name: "header", About: "The name of a header."},
		{Name: "client_ip", About: "The address of the client: one IPv4 address, or an IPv6 network."},
		{Name: "cookie", About: "The name of a cookie."},
		{Name: "query", About: "The name of a field of the query."},
		{Name: "jwt", About: "A claim of a JSON Web Token. Its signature is not verified."},
		{Name: "bearer", Accepted: "true", About: "The credential of Authorization: Bearer, without the scheme and blanks."},
		{Name: "const", About: "A fixed text, the same for all requests."},
		{Name: "lower", About: "Converts the value to lower case, so that Ann and ann are one key."},
		{Name: "trim", About: "Removes white space around the value."},
	},
	reflect.TypeFor[clientIPFields](): {
		{Name: "v6_prefix", Accepted: v6Accepted, About: "The number of leading bits of an IPv6 address that identify a client. By default 64."},
	},
	reflect.TypeFor[jwtFields](): {
		{Name: "header", About: "The header with the token. A leading Bearer is removed. By default Authorization."},
		{Name: "claim", About: "The name of the claim, such as sub."},
	},
	reflect.TypeFor[classHeaderFields](): {
		{Name: "header", About: "The header with the class. It is ignored unless a trusted proxy sends it."},
	},
	reflect.TypeFor[costHeaderFields](): {
		{Name: "header", About: "The header with the cost. Without it each policy's cost applies."},
		{Name: "max", Accepted: unitsAccepted, About: "The highest cost that the header can set. A higher number, or a text that is not a number, counts as this cost."},
	},
	reflect.TypeFor[listenersFields](): {
		{Name: "resp", About: "The Redis protocol. The flag --resp takes precedence."},
		{Name: "http", About: "HTTP. The flag --http takes precedence."},
		{Name: "grpc", About: "gRPC. The flag --grpc takes precedence."},
		{Name: "admin", About: "The listener for operators. The flags --admin and --admin-token-file take precedence."},
	},
	reflect.TypeFor[listenerFields](): {
		{Name: "address", About: "A host and a port, such as 127.0.0.1:6380, or off."},
		{Name: "users_file", About: "A file with the users that may send requests. By default the users of the flag --users-file, or every client."},
		{Name: "tls", About: "Files for TLS. Without it the flags --tls-cert, --tls-key and --tls-client-ca apply."},
	},
	reflect.TypeFor[adminFields](): {
		{Name: "address", About: "A host and a port, such as 127.0.0.1:6070, or off."},
		{Name: "token_file", About: "A file with the operators: users that may read or operate, or tokens, one per line."},
		{Name: "tls", About: "Files for TLS. Without it the flags --tls-cert, --tls-key and --tls-client-ca apply."},
	},
	reflect.TypeFor[tlsFields](): {
		{Name: "cert", About: "A file with the certificate and its chain, in PEM. It is read again when it changes."},
		{Name: "key", About: "A file with the private key of the certificate, in PEM."},
		{Name: "client_ca", About: "A file with CA certificates in PEM. Every client must present a certificate signed by one of them. By default clients need no certificate."},
	},
	reflect.TypeFor[storeFields](): {
		{Name: "url", About: "memory, or the URL of a Redis. The flag --store takes precedence."},
		{Name: "password_file", About: "A file with the Redis password. The flag --store-password-file takes precedence."},
	},
}

// described returns the description of a field of a struct.
func described(t reflect.Type, name string) (engine.Field, bool) {
	i := slices.IndexFunc(descriptions[t], func(f engine.Field) bool { return f.Name == name })
	if i < 0 {
		return engine.Field{}, false
	}
	return descriptions[t][i], true
}

// rowTable is a table of fields, whose rows describe those that a file can set.
type rowTable interface {
	rows() []engine.Field
	Type(name string) reflect.Type
}

// rows returns the rows of the fields that a file can set.
func (values) rows() []engine.Field {
	return slices.DeleteFunc(slices.Clone(limitRows), func(f engine.Field) bool { return !supported(f) })
}

// rows returns the rows of the settings as fields.
func (settingValues) rows() (rows []engine.Field) {
	for i := range settingRows {
		rows = append(rows, settingRows[i].Field)
	}
	return rows
}

// supported reports whether a file can name an algorithm of limits with the field.
func supported(f engine.Field) bool {
	ofAll := func(other engine.Field) bool { return other.Name == f.Name }
	return slices.ContainsFunc(rateRows, ofAll) || slices.ContainsFunc(constantRows, ofAll) || slices.ContainsFunc(fileAlgorithms, f.On)
}

// fieldsIn yields the fields that a file can set in a struct, with their types. It omits reserved fields, which have no
// description, and fields of algorithms that a file cannot name.
func fieldsIn(t reflect.Type) iter.Seq2[engine.Field, reflect.Type] {
	return func(yield func(engine.Field, reflect.Type) bool) {
		for field := range t.Fields() {
			switch name := field.Tag.Get("yaml"); name {
			case ",inline":
				for f, typ := range fieldsIn(field.Type) {
					if !yield(f, typ) {
						return
					}
				}
			case ",table":
				table := reflect.Zero(field.Type).Interface().(rowTable)
				for _, f := range table.rows() {
					if !yield(f, table.Type(f.Name)) {
						return
					}
				}
			default:
				if f, ok := described(t, name); ok && !yield(f, field.Type) {
					return
				}
			}
		}
	}
}

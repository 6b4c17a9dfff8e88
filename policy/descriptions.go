package policy

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// The accepted values of some fields, for error messages and the schema.
const (
	allAccepted       = "1 to 32"
	estimateAccepted  = "capacity"
	modeAccepted      = "exact, leased"
	headersAccepted   = "draft, draft-03, x-ratelimit, spring, off"
	replicaAccepted   = "1 to 16"
	unsettledAccepted = "keep, release or estimate"
	unitAccepted      = "1 to 32 of A-Z a-z 0-9 _ -"
	nameAccepted      = "1 to 64 of A-Z a-z 0-9 _ . -"
	classesAccepted   = "1 to 8"
	inFlightAccepted  = "1 to 1000000"
)

var (
	unitsAccepted  = fmt.Sprintf("1 to %d", algo.MaxUnits)
	weightAccepted = fmt.Sprintf("1 to %d", engine.MaxWeight)
	costAccepted   = fmt.Sprintf("0 to %d", algo.MaxUnits)
)

// descriptions describes the fields of a file that are not in the table engine.Fields, in the form of that table.
// Fields are grouped by the struct into which they are decoded.
var descriptions = map[reflect.Type][]engine.Field{
	reflect.TypeFor[file](): {
		{Name: "policies", About: "The policies by name. A name has 1 to 64 of A-Z a-z 0-9 _ . - and begins with a letter, a digit or _."},
		{Name: "overrides", About: "Other limits for some keys of a policy."},
		{Name: "trusted_proxies", About: "Addresses and networks of proxies whose X-Forwarded-For is believed. By default those of the machine itself, 127.0.0.0/8 and ::1; an empty list trusts none."},
		{Name: "x_real_ip", About: "Trusts X-Real-IP of those proxies too, for requests without X-Forwarded-For and Forwarded. Set it only if each of them sets or removes that header: a proxy that passes it on lets the client choose its address."},
		{Name: "routes", About: "Which HTTP requests are charged on which policies. The first route that matches applies."},
		{Name: "upstreams", About: "The servers that the gateway sends requests to, by name: http://, https:// or h2c:// (HTTP/2 in clear text), a host, and optionally a port and a path that comes before the request's. A name has the form of a policy's."},
		{Name: "listeners", About: "The addresses that the server listens on."},
		{Name: "store", About: "Where limits are kept."},
	},
	reflect.TypeFor[policyBody](): {
		{Name: "failure", Accepted: failureAccepted, About: "The answer to an allow or peek while the store is away: " + FailureModes() + ". local is the default."},
		{Name: "mode", Accepted: modeAccepted, About: "leased lets the server take units of hot keys from Redis ahead. By default exact."},
		{Name: "headers", Accepted: headersAccepted, About: "The form of the rate-limit headers in HTTP answers. By default draft."},
		{Name: "cost", Accepted: costAccepted, About: "The cost, in units, of a request that names no cost. By default 1."},
		{Name: "unit", Accepted: unitAccepted, About: "The name of a unit, such as tokens or micro-dollars, for display. It changes no count."},
		{Name: "estimate_max", Accepted: estimateAccepted, About: "With capacity, a reserve of more units than a limit can ever let pass reserves the units that can pass, and the commit charges the rest. By default such a reserve never passes."},
		{Name: "settle_within", About: "How long a reservation can be settled or reported on, 1ms to 168h in whole milliseconds. The store keeps it meanwhile, and ends it afterwards as unsettled says. By default no reservation is ended."},
		{Name: "unsettled", Accepted: unsettledAccepted, About: "What happens to a reservation that is not settled in time: keep leaves its charge, release gives back the units that were not reported as used, estimate charges the estimate, also where estimate_max has lowered it. Its permits are released. By default keep."},
		{Name: "classes", Accepted: classesAccepted, About: "Classes of requests, the most important first. Each leaves some units of the limits to those before it."},
		{Name: "shadow", About: "true decides and counts, and never denies. A limit is a candidate: a second limit, counted apart, that never denies. It takes missing fields from the policy."},
		{Name: "enabled", About: "false allows everything and counts nothing."},
		{Name: "replicas", Accepted: replicaAccepted, About: "How many replicas of the Redis must have a charge before the request is allowed. By default requests wait for none."},
		{Name: "replica_timeout", About: "The longest wait for them, 1ms to 10s in whole milliseconds. If fewer have the charge by then, the failure mode answers. By default 20ms."},
	},
	reflect.TypeFor[classFields](): {
		{Name: "name", About: "The name of the class, in the form of a policy's."},
		{Name: "weight", Accepted: weightAccepted, About: "How many times as much a key of the class can have of a fair-share or fair-concurrency limit as one of weight 1, while both ask for more. By default the limit's own weight."},
		{Name: "leaves", About: "How much must remain after a request of the class: a percentage of each capacity, such as 10%, rounded up, or a number of units. By default 0."},
	},
	reflect.TypeFor[LimitFields](): {
		{Name: "algorithm", Accepted: strings.Join(allNames(), ", "), About: "How units are counted."},
		{Name: "rate", Accepted: "a count per period", About: "How fast units refill, or how fast they leave a pacer, such as 100/s, 5/1m or 30/60s."},
		{Name: "limit", Accepted: unitsAccepted, About: "How many units pass in a window, or are held at the same time. A log and permits have at most 100000, fair permits at least 10, and a penalty 1 to 1000000 ignored denials."},
		{Name: "window", Accepted: "1ms to 36525d, for a penalty to 366d; with a time zone in align also 1mo and 1y", About: "How long a window is, such as 1m, 1d or 1w."},
		{Name: "deny", About: "true denies everything. It replaces the algorithm."},
		{Name: "unlimited", About: "true allows everything. It replaces the algorithm."},
		{Name: "all", Accepted: allAccepted, About: "Several limits, all or nothing. Each is the fields or the text of a limit, or the name of another policy."},
		{Name: "first", Accepted: allAccepted, About: "Several limits, as in all. The first that has room is charged, and the others are not."},
	},
	reflect.TypeFor[WindowFields](): {
		{Name: "limit", Accepted: unitsAccepted, About: "How many units pass in this window."},
		{Name: "window", About: "How long this window is."},
	},
	reflect.TypeFor[overrideFields](): {
		{Name: "policy", About: "The name of a policy. With all or first, deny or unlimited takes the place of all its limits."},
		{Name: "key", About: "A key of 1 to 1024 bytes, or a pattern, where * matches any bytes."},
		{Name: "set", About: "Fields that replace those of the policy's limit. With algorithm they are the whole limit, except its name. Not for a policy with all or first."},
		{Name: "class", About: "The class of the key's requests, whatever class they name. Use it alone or with set."},
		{Name: "deny", About: "true denies the key everything."},
		{Name: "unlimited", About: "true allows the key everything."},
	},
	reflect.TypeFor[routeFields](): {
		{Name: "match", About: "The conditions of a request. All must hold; a route without any matches every request."},
		{Name: "charge", Accepted: chargesAccepted, About: "The charges of a request with several keys or costs, all or nothing. It replaces key, policies and cost."},
		{Name: "key", Accepted: keyAccepted, About: "The parts of the key, in order. Different parts make different keys."},
		{Name: "empty_key", Accepted: emptyKeyAccepted, About: "What happens to a request without a part of a key: it is denied (deny, the default), or the next routes are tried (skip)."},
		{Name: "empty_key_status", Accepted: statusAccepted, About: "The status of the answer to a request that is denied because it lacks a part of a key. By default 400."},
		{Name: "cost", About: "The units that a request costs, as a number or in a header. By default each policy's cost."},
		{Name: "policies", Accepted: policiesAccepted, About: "The names of the policies that a request is charged on, all or nothing. A limit that is in several of them is charged once."},
		{Name: "class", About: "The class of the requests: a name, or the header that has it, which only trusted proxies can set. By default the last class of each policy."},
		{Name: "upstream", About: "The name of the upstream that the gateway sends the requests to. By default the gateway's flag --upstream applies."},
		{Name: "refund_on_error", About: "true gives the units back if the upstream fails before the header of its answer. For the gateway. By default false."},
	},
	reflect.TypeFor[upstreamFields](): {
		{Name: "url", About: "The URL, as an upstream that is a text has it."},
		{Name: "in_flight", About: "Bounds the requests that the gateway has at the upstream at the same time, by a limit that follows their latency. Others are answered 503."},
	},
	reflect.TypeFor[inFlightFields](): {
		{Name: "min", Accepted: inFlightAccepted, About: "The limit is never lower."},
		{Name: "max", Accepted: inFlightAccepted, About: "The limit is never higher, also in a burst."},
		{Name: "latency", About: "How long the upstream may take until its answer begins, 1ms to 1m: three to four times what it takes alone."},
	},
	reflect.TypeFor[chargeFields](): {
		{Name: "policy", About: "The name of the policy. A policy can be in several charges; those under one key are one charge of their costs together."},
		{Name: "key", Accepted: keyAccepted, About: "The parts of the key, in order. Different parts make different keys."},
		{Name: "cost", About: "The units that a request costs, as a number or in a header. By default the policy's cost."},
	},
	reflect.TypeFor[matchFields](): {
		{Name: "host", About: "A host such as api.example.com, or *.example.com for all hosts below it. Case and port do not count."},
		{Name: "path", About: "A path such as /v1/users/{id}/**. {id} and * are one segment, ** at the end is any number of segments."},
		{Name: "method", About: "A list of methods in capital letters. GET also matches HEAD."},
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
		{Name: "const", About: "A text that is the same for all requests."},
	},
	reflect.TypeFor[clientIPFields](): {
		{Name: "v6_prefix", Accepted: v6Accepted, About: "How many bits of an IPv6 address are one client. By default 64."},
	},
	reflect.TypeFor[jwtFields](): {
		{Name: "header", About: "The header with the token, with or without Bearer before it. By default Authorization."},
		{Name: "claim", About: "The name of the claim, such as sub."},
	},
	reflect.TypeFor[classHeaderFields](): {
		{Name: "header", About: "The header with the class. It is ignored unless a trusted proxy sends it."},
	},
	reflect.TypeFor[costHeaderFields](): {
		{Name: "header", About: "The header with the cost. Without it each policy's cost applies."},
		{Name: "max", Accepted: unitsAccepted, About: "The highest cost that the header can name. A higher one, or a text that is no number, costs this."},
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
		{Name: "token_file", About: "A file with the operators: users that may read or operate, or tokens, one a line."},
		{Name: "tls", About: "Files for TLS. Without it the flags --tls-cert, --tls-key and --tls-client-ca apply."},
	},
	reflect.TypeFor[tlsFields](): {
		{Name: "cert", About: "A file with the certificate and its chain, in PEM. It is read again when it changes."},
		{Name: "key", About: "A file with the private key of the certificate, in PEM."},
		{Name: "client_ca", About: "A file with certificates in PEM. Every client must show a certificate that one of them has signed. By default clients need none."},
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

// supported returns the description of a field that a file can have. Reserved fields, and fields of algorithms that a
// file cannot name, have none.
func supported(t reflect.Type, name string) (engine.Field, bool) {
	if f, ok := described(t, name); ok {
		return f, true
	}
	f, ok := limitField(name)
	return f, ok && t == reflect.TypeFor[LimitFields]() && slices.ContainsFunc(fileAlgorithms, f.On)
}

// limitField returns the field of a limit from the table in package engine.
func limitField(name string) (engine.Field, bool) {
	return fieldNamed(slices.Collect(engine.Fields()), name)
}

func fieldNamed(fields []engine.Field, name string) (engine.Field, bool) {
	i := slices.IndexFunc(fields, func(f engine.Field) bool { return f.Name == name })
	if i < 0 {
		return engine.Field{}, false
	}
	return fields[i], true
}

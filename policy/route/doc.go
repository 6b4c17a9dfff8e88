// Package route finds the route for an HTTP request, and with it the request's key, cost and policies. It makes no
// decisions and does no I/O.
//
//	request.go  the properties of a request that routes match
//	route.go    Route: conditions, parts of the key, cost
//	path.go     paths: normal form and patterns
//	host.go     hosts: normal form and patterns
//	client.go   the client's address behind trusted proxies
//	name.go     names of headers, cookies and methods
//	when.go     conditions in CEL, with bounded cost
//	key.go      the key of a request
//	single.go   values that must occur once
//	ambiguous.go what is refused, because an upstream reads it differently
//	jwt.go      one claim of a token, unverified
//	cost.go     the cost of a request
//	table.go    Table: the first route that matches
//	trie.go     the routes by host and path
//	group.go    the routes of one host and path, by header, query and client
//	hidden.go   routes that no request can reach
//	possible.go keys that a route's requests can have
//	explain.go  explains why a route matches or does not
package route

// Package route finds the route of an HTTP request, and with it the key, the cost and the policies that the request is
// charged on. It makes no decisions and does no I/O.
//
//	request.go  a request as a route sees it
//	route.go    Route: conditions, parts of the key, cost
//	path.go     paths: normal form and patterns
//	host.go     hosts: normal form and patterns
//	client.go   the client's address behind trusted proxies
//	name.go     names of headers, cookies and methods
//	when.go     conditions in CEL, bounded in cost
//	key.go      the key of a request
//	jwt.go      one claim of a token, not verified
//	cost.go     the cost of a request
//	table.go    Table: the first route that matches
//	trie.go     the routes by host and path
//	group.go    the routes of one host and path, by header, query and client
//	hidden.go   routes that no request reaches
//	possible.go keys that no request of a route has
//	explain.go  explains why a route matches or does not
package route

// Package envoy decides the requests to Envoy's rate limit service with the configuration files of
// envoyproxy/ratelimit. It handles the service's messages, but not connections.
//
//	load.go        directory and files → Config
//	yaml.go        one file → a tree of values
//	fields.go      the keys that a file may have; fields by type
//	rule.go        the tree → domains, levels, rules
//	limit.go       unit and count → a limit
//	match.go       a request's descriptor → rule, key, statistic
//	wildcards.go   the index of values with *
//	key.go         matched entries → the key of a counter
//	request.go     request → matches
//	plan.go        matches → requests to package decide
//	answer.go      decisions → response
//	metadata.go    metadata of rules and answers
//	stats.go       counters of rules
//	policies.go    the policies of rules
//	outcome.go     the outcome for one descriptor
//	reload.go      reloads a directory; errors.go errors for requests
//	service.go     Service: all of these, with a configuration that can be replaced
//
// By default the answers are the same as those of envoyproxy/ratelimit. docs/design/envoy.md lists the differences
// and their reasons.
package envoy

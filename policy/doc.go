// Package policy parses limits written by people: the YAML policies file, and the limit in a JSON request. It is
// strict: an unknown field is an error, reported with its position. docs/reference/policies.md describes every field, and
// docs/reference/routes.md the routes; package filelimit applies the file:
//
//	policies:
//	  api: 100/s burst 200
//	  login: {algorithm: sliding-window, limit: 5, window: 1m, cost: 1}
//	routes:
//	  - match: {path: /login, method: [POST]}
//	    key: [client_ip]
//	    policies: [login]
//
//	spec.go          a limit's fields as written, and the limit that they describe
//	limit_values.go       the fields by name, for engine.Build and for overrides
//	rates.go         the rate or windows among the fields
//	all.go           the limits of a request with "all"
//	algorithms.go    the algorithms that can be named
//	field.go         errors with the path of the field
//	file.go          the whole file as written (file_routes.go: its routes)
//	read.go          a file or its text → Config
//	load.go          the file's parts → Config; errors with line, column and excerpt
//	forms.go         the fields in file.go that have several forms; package yamlfile reads the others
//	position.go      where an error is in the file
//	build.go         the fields in file.go → the policies
//	setting_rows.go  the settings of a policy: a row each
//	settings.go      a policy from its settings, and their requirements on its limits
//	policy.go        Policy (set.go: Set)
//	charge.go        the limits of a key
//	failure.go       a policy's answer when the decision is not known
//	change.go        changes on top of a file
//	external.go      policies from another configuration
//	override.go      the limits of single keys (build_override.go: from the file)
//	routes.go        the routes of a file (routes_key.go: keys and costs; upstreams.go: targets)
//	listeners.go     where the server listens
//	summary.go       a policy as text
//	text.go          a limit as text → its fields
//	compare.go       compares two files
//	notes.go         notes about parts of a file that have no effect
//	explain.go       explains the decision on an HTTP request
//	accepted.go      what some fields accept, in errors and in the JSON Schema, which a test generates
package policy

// Package policy reads limits written by people: the policies file in YAML, and the limit of a JSON request. It is
// strict: an unknown field is an error with its position.
//
//	spec.go          a limit's fields as written, and the limit that they describe
//	options.go       the fields by name, for engine.Build and for overrides
//	values.go        every error of a limit, where build stops at the first
//	rates.go         the rate or windows among the fields
//	all.go           the limits of a request with "all"
//	algorithms.go    the algorithms that can be named
//	field.go         errors with the path of the field
//	file.go          the whole file as written; file_routes.go its routes
//	read.go          a file, or its text → Config
//	load.go          its parts → Config; every error with line, column and excerpt
//	forms.go         the fields of file.go with several forms; package yamlfile reads the others
//	position.go      where an error is in the file
//	set.go           the policies of a file
//	settings.go      the settings of a policy, and their requirements on its limits
//	policy.go        Policy and Set: the limits of a key
//	failure.go       the answer of a policy without a decision
//	change.go        changes on top of a file
//	made.go          policies that another configuration makes
//	override.go      the limits of single keys; set_override.go those of the file
//	routes.go        the routes of a file; routes_key.go their keys and costs; upstreams.go where they lead
//	listeners.go     where the server listens
//	summary.go       a policy as text
//	text.go          a limit as text → its fields
//	compare.go       whether two files say the same
//	notes.go         notes on parts of a file that have no effect
//	explain.go       explains the decision on an HTTP request
//	descriptions.go  descriptions of the file's fields
//	schema.go        the JSON Schema of the file
package policy

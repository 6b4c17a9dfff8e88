// Package policy reads limits that people write: the policies file in YAML, and the
// limit of a JSON request. It is strict: an unknown field is an error with its
// position, and never ignored.
//
//	spec.go          a limit's fields as written, and the limit that they describe
//	options.go       the fields by name, for engine.Build and for overrides
//	rates.go         the rate or windows among the fields
//	all.go           the limits of a request with all
//	algorithms.go    the algorithms that can be named
//	field.go         errors with the path of the field
//	file.go          the whole file as written
//	load.go          file → Config; every error with line, column and excerpt
//	position.go      where an error is in the file
//	set.go           the policies of a file
//	settings.go      the settings of a policy, and what they require of its limits
//	policy.go        Policy and Set: the limits of a key
//	override.go      the limits of single keys
//	change.go        changes on top of a file
//	descriptions.go  what each field of the file is for
//	schema.go        the JSON Schema of the file
package policy

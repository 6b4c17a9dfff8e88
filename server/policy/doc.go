// Package policy reads limits that people wrote down: a YAML file of named
// policies, or the limit of a JSON request. It is strict: what it does not know
// is an error with its place, never a default.
//
//	spec.go       a limit's fields as written, and the limit they make
//	rates.go      the rate or windows among those fields
//	all.go        the limits of a request with all
//	field.go      errors placed at the field that was written
//	file.go       the whole file as written
//	load.go       file → Config, with each mistake's line, column and excerpt
//	policy.go     Policy and Set: which limits a key is held to
//	override.go   exceptions by key
package policy

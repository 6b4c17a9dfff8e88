// Package policytest runs test cases for a policies file: requests at given times, with expected answers. Time is
// virtual, and the store is in memory.
//
//	file.go     the YAML of a test file → tests
//	check.go    checks of a step's fields
//	request.go  an HTTP request as text → the request for the routes
//	run.go      tests → differences
//	compare.go  compares an answer with the expected one
package policytest

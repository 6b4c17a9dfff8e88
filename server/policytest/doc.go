// Package policytest runs test cases for a policies file: requests at given times with expected answers. Time is
// virtual, and the store is in memory.
//
//	file.go     the YAML of a test file → tests
//	check.go    what a step may have
//	request.go  an HTTP request as text → the request that routes see
//	run.go      tests → differences
//	compare.go  an answer beside the expected one
package policytest

// Package suggest computes limits for the keys of an access log.
//
// It builds a profile of each key, finds the outliers, and searches for the limits that deny the most requests from
// outliers without affecting the other keys. It decides requests with the same code as the stores.
//
//	result.go     the results
//	recorder.go   the times of the requests, by key
//	decider.go    the requests of one key under one limit
//	run.go        a log → its keys → limits
//	profile.go    each key's maximum number of requests in any second, minute, hour and day
//	classify.go   outliers and shared addresses
//	agents.go     User-Agents that look like people
//	habits.go     a key's most frequent requests (listed.go: lists of keys)
//	notes.go      the assumptions behind the suggestions
//	numbers.go    round numbers
//	burst.go      the burst that a key needs at a rate
//	compared.go   the limits to compare
//	choose.go     the choice of limits
//	effect.go     the effect of all limits together
//	reasons.go    the reasons, in words
//	parallel.go   keys on all cores
//	file.go       the policies file
package suggest

// Package suggest finds limits for the keys of an access log.
//
// It looks at what each key did, sets those apart that stand out, and looks for the limits
// that leave the others alone and refuse the most of these. What a limit refuses is decided
// by the steps that the stores decide with.
//
//	result.go     what is found
//	run.go        a log → its keys → limits
//	profile.go    the most requests of each key in any second, minute, hour and day
//	classify.go   keys that stand out
//	agents.go     values of User-Agent that look like people
//	habits.go     what a key did most; listed.go shows it
//	notes.go      what the suggestions take for granted
//	numbers.go    numbers that people choose
//	burst.go      the burst that a key needs at a rate
//	compared.go   limits that are compared
//	choose.go     the limits that are suggested
//	protect.go    limits for a stated protection
//	effect.go     what the limits refuse together
//	reasons.go    why, in words
//	parallel.go   keys on all cores
//	file.go       the policies file
package suggest

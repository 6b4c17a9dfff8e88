// Package suggest computes a limit for the keys of an access log.
//
// It builds a profile of each key, finds the outliers, and looks for the token bucket with the lowest rate that leaves the
// other keys alone. Only these other keys determine the limit, so that an abuser in the log cannot raise it once it is
// found to be an outlier.
//
//	run.go       a log → its keys → a limit
//	result.go    the result
//	profile.go   each key's maximum number of requests in any second, minute, hour and day
//	classify.go  outliers
//	bucket.go    the bucket that the keys need
//	reasons.go   the reasons, in words
//	notes.go     the assumptions behind the suggestion
//	parallel.go  keys on all cores
//	file.go      the policies file
package suggest

// Package simulate decides the requests in an access log in the same way as a server would have done, at the times in
// the log.
//
// It uses a server's routes and its decision code, with a memory store whose clock follows the log. The answers are
// therefore the same as a server's, and this package does not duplicate the limits' arithmetic.
//
//	needs.go     the fields of a log that a file's routes need
//	simulate.go  Simulation: one request → its answer
//	run.go       a log → admitted and denied requests
//	tally.go     counts by route and policy
//	keys.go      counts by key: requests, denials, policies
//	compare.go   two files on one log
package simulate

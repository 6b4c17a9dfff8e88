// Package core is the limiter that Go programs, policies and servers stand on. It turns operations into answers, waits,
// holds, reserves and settles, and ends what nobody settled; all in the types of package engine. Package headgate is its
// facade for programs, and documents every verb. Package core also has the rules of keys that middleware and routes
// share.
//
//	limiter.go  a limiter on a store; operations → answers
//	policy.go   limits with a name: the operations of one key
//	call.go     one operation in pooled memory
//	wait.go     callers of Wait: line.go orders them, turns.go shares their calls, slots.go hands slots over
//	reserve.go  reservations; terms.go ends those that nobody settled
//	permit.go   permits; await.go waits for them, late.go releases those whose caller got no answer
//	charged.go  the charges of a request whose cost is not known yet; permits.go, its permits
//	outcome.go  how requests ended, for rates that adapt
//	key.go      what keys and hashes look like
package core

// Package resp serves RESP, the Redis protocol, in versions 2 and 3, so that
// any Redis client can ask for decisions.
//
// The package knows connections and their commands (PING, HELLO, MULTI, …), and no
// limit: commands that ask for decisions are registered from outside, see [Decision].
//
// One goroutine serves one connection:
//
//	bytes ──► wire.Reader ──► batch of commands ──► answer ──► output ──► one write
//	                                                  │
//	                        run of decision commands: one call of Decide
//
// All complete commands that have arrived are one batch. Consecutive decision
// commands of a batch are decided by one call. The replies are written when
// the connection has to wait for more input, so a pipeline that arrived
// together is answered together.
//
// What a client can make the server hold is bounded: by the bounds of package
// wire for input, by a write deadline for output that it does not read, by
// maxQueued and maxQueuedBytes for a transaction, and by Config.MaxConns.
//
// A panic is not recovered: it would be a bug in this package or in Decide,
// and a server in an unknown state should not go on deciding.
package resp

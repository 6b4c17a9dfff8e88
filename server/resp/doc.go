// Package resp serves RESP, the Redis protocol, in versions 2 and 3, so that any Redis
// client can use Headgate.
//
// The package has the commands of connections (PING, HELLO, MULTI, …) and knows no limits.
// The commands that make decisions are registered by its user: see [DecisionCommand].
//
// One goroutine serves one connection:
//
//	bytes ──► wire.Reader ──► batch of commands ──► answer ──► output ──► one write
//	                                                  │
//	                  consecutive decision commands: one call of Decide
//
// The complete commands that have arrived are one batch. Consecutive decision commands of
// a batch are decided by one call. Replies are written before the connection waits for
// more input, so a pipeline that arrived together is answered by one write.
//
// The memory that a client can occupy is bounded: its input by package wire, its unread
// output by a write deadline, a transaction by maxQueued and maxQueuedBytes, and all
// clients by Config.MaxConns, of which one peer has a share.
//
// A panic is not recovered. It would be a bug in this package or in Decide, and a server in
// an unknown state should not go on deciding.
package resp

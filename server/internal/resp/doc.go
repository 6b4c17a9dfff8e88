// Package resp serves RESP, the Redis protocol, in versions 2 and 3, so that any Redis client can use Headgate.
//
// The package implements the commands for connections (PING, HELLO, MULTI, …) and is independent of limits. Its user
// registers the commands that make decisions: see [DecisionCommand].
//
// Each connection has one goroutine:
//
//	bytes ──► wire.Reader ──► batch of commands ──► answer ──► output ──► one write
//	                                                  │
//	                  consecutive decision commands: one call of Decide
//
// The complete commands that have arrived are one batch. Consecutive decision commands in a batch are decided in one
// call. Replies are written before the connection waits for more input, so a pipeline that arrived together is answered
// in one write.
//
// The memory that clients can occupy is bounded: input by package wire, unread output by a write deadline, a
// transaction by maxQueued and maxQueuedBytes, and the number of clients by Config.MaxConns, with a share for each
// peer.
//
// Panics are not recovered. A panic would be a bug in this package or in Decide, and a server in an unknown state
// should not continue to decide.
//
//	server.go, config.go, accept.go  start, stop, and which connections are accepted
//	conn.go, answer.go               one connection, and its batches of commands
//	table.go                         the commands by name; decisions.go those of the user
//	cmd_*.go                         the commands that decide nothing: PING, HELLO, CLIENT, INFO, COMMAND, MULTI
package resp

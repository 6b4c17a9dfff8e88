// Package policies manages the policies of a running server: the file's policies, with the operators' changes on top
// of them.
//
// A change replaces some fields of a policy, or the limit of one key, until it is cleared or expires. The file and
// all changes are combined into one set, which is activated at once. If that fails, the previous set stays active.
// Spent units are kept (rule 10 in docs/design/rules.md).
//
//	manager.go     file and changes → the active set
//	reload.go      reloads the file after a change
//	pause.go       pauses while the file is read
//	change.go      a change, its bounds, and the log line that audits it
//	describe.go    a policy, or the limits of a key, in one line
//	follow.go      background work: files, other servers, expiry
//	store.go       the interface for storing changes, and a store in memory
//	statefile.go   a store in a file
//	shared.go      a store shared by all servers
//	shared_load.go loads changes made by other servers
package policies

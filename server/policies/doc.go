// Package policies manages the policies of a running server: the file's policies, and the operators' changes on top of
// the file.
//
// The file is the base. A change replaces some fields of a policy, or the limit of one key, until it is cleared or
// expires. The file and all changes are built into one set and activated at once; if that fails, the last set stays
// active. Spent units are kept (rule 10 in docs/design/rules.md).
//
//	manager.go     file and changes → the active set
//	reload.go      reloads the changed file
//	pause.go       pauses while it is read
//	change.go      a change, its bounds, and the log line that audits it
//	describe.go    a policy, or the limits of a key, in one line
//	follow.go      background work: files, other servers, expiry
//	store.go       the interface for storing changes, and a store in memory
//	statefile.go   a store in a file
//	shared.go      a store shared by all servers
//	shared_load.go loads changes made by other servers
package policies

// Package policies manages the policies of a running server: those of its file, and the operators' changes on top of
// it.
//
// The file is the base. A change replaces some fields of a policy, or the limit of one key, until it is cleared or
// expires. The file and all changes are built into one set and activated at once; if that fails, the last set stays
// active. Spent units are kept (rule 10 in docs/design/rules.md).
//
//	manager.go     file and changes → the set in force
//	reload.go      the file has changed
//	pause.go       rests while it is read
//	change.go      a change, its bounds, and the log line that audits it
//	follow.go      what runs beside the decisions: files, other servers, expiry
//	store.go       where changes are kept: the contract, and memory
//	statefile.go   in a file
//	shared.go      in the store that all servers share
//	shared_load.go what other servers have written there
package policies

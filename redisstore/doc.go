// Package redisstore keeps limits in Redis, Valkey, or a server with the same commands and scripts: standalone, with
// Sentinel, or a Cluster.
//
// One Lua script decides each operation inside the server, at the server's time. The script's arithmetic gives exactly
// the same results as package algo. Therefore any number of processes share a limit exactly, regardless of their own
// clocks. The scripts for merged operations charge them and return the states that they found; package algo computes the
// answers from these.
//
// The operations of one call to [Store.Do] are sent together. One script call contains as many operations as allowed.
// On a Cluster, it contains only operations on one slot. All commands for one node are sent in one write.
//
// A store talks to Redis through a [Conn]. The modules adapter/rueidis and
// adapter/goredis implement it. adapter/rueidis also opens stores by URL.
//
// To follow one call, read the files in this order:
//
//	store.go   Do: from operations to results
//	group.go   groups operations into script calls
//	merge.go   merges the operations of one key into one read and one write
//	send.go    sends script calls, and resends those that did not run
//	encode.go  encodes operations as keys and arguments of a script
//	keys.go    names the keys
//	decode.go  decodes replies into results
//
// Other files:
//
//	families.go     for each algorithm, its fragment in lua/ and the arguments that it reads
//	scripts.go      the scripts; assemble.go builds them from the fragments in lua/
//	slots.go        slots and hash tags of a Cluster
//	format.go       the format marker, which all processes must agree on
//	split.go        operations whose limits are on several slots;
//	                split_concurrency.go handles permits on several slots;
//	                split_undo.go gives back what a denied request has charged
//	coordinator.go  data other than limits that processes share
//	guard.go        lets callers leave a client that holds them
//	errors.go       the classes of errors
package redisstore

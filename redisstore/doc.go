// Package redisstore keeps limits in Redis, Valkey, or a server that runs the
// same commands and scripts: standalone, behind Sentinel, or a Cluster.
//
// One Lua script decides each operation inside the server, at the server's
// time. The script does the arithmetic of package algo with the same results,
// to the last digit. So any number of processes share a limit exactly, whatever
// their own clocks show.
//
// The operations of one call to [Store.Do] travel together. Without a Cluster,
// one script call carries as many of them as it may hold; on a Cluster, there is
// one script call per slot at least. All commands for one node leave in one
// write.
//
// A store talks to Redis through a [Conn]. The modules adapter/rueidis and
// adapter/goredis implement it. adapter/rueidis also opens stores by URL.
//
// To follow one call, read the files in this order:
//
//	store.go   Do: from operations to results
//	group.go   groups operations into script calls
//	merge.go   merges the operations of one key into one read and one write
//	send.go    sends script calls, and sends those again that did not run
//	encode.go  encodes operations as keys and arguments of a script
//	keys.go    names the keys; hashes.go, the hashes where states are fields
//	decode.go  decodes replies into results
//
// Beside that path:
//
//	scripts.go      the scripts; assemble.go builds them from the fragments in lua/
//	replicas.go     waits until replicas have what was charged
//	slots.go        slots and hash tags of a Cluster
//	format.go       the format marker, which all processes must agree on;
//	                format_watch.go reads it again while the store is in use,
//	                format_older.go finds states of an incompatible older build
//	relayout.go     moves states between the layouts; hash_sizes.go finds large hashes
//	split.go        operations whose limits are on several slots;
//	                split_concurrency.go, permits on several slots;
//	                split_undo.go gives back what a denied request has charged
//	coordinator.go  what processes share besides limits
//	errors.go       the classes of errors
package redisstore

// Package loopback plays a run of package model in real time: clients send HTTP requests over the loopback to a server
// with as many workers, whose requests sleep for as long as the model's would take. Its test compares the goodput with
// the simulated one: make simulate-real.
//
//	play.go    the run and its bounds; client.go the clients
//	server.go  the server behind the gate
package loopback

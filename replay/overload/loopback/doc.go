// Package loopback runs a configuration of package model in real time: clients send HTTP requests over the loopback
// interface to a server with as many workers, which sleep for the service times of the model. Its test compares the
// goodput with that of the simulation: make simulate-real.
//
//	play.go    the run and its limits; client.go the clients
//	server.go  the server with its gate
package loopback

// Package loopback runs a configuration of package model in real time: clients send HTTP requests over the loopback
// interface to a server with as many workers, which sleep for the model's service times. Its test compares the goodput
// with the simulation's: make simulate-real.
//
//	play.go    the run and its limits; client.go the clients
//	server.go  the server with its gate
package loopback

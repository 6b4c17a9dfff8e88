// Package loopback runs a configuration of package model in real time: clients send HTTP requests over the loopback
// interface to a server. The server has as many workers as the model, and they sleep for the model's service times.
// The test compares the goodput with the simulation's: make simulate-real.
//
//	play.go    the run and its limits (client.go: the clients)
//	server.go  the server with its gate
package loopback

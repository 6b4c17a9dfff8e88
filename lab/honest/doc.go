// Package honest measures what customers who keep within their limits notice of a fault of Redis.
//
// Three servers share policies of a second, a day and a month, and eight share sign-ins of 5 in 15 minutes. While a
// thousand customers send a few requests each, Redis is killed, hangs, comes back empty, is full, and so on. Beside them,
// greedy callers ask for as much as passes. The result is a table: how many customers were denied wrongly, by how many
// units greedy ones exceeded their limits, and how long anybody had to wait.
//
//	HEADGATE_BINARY=PROGRAM go test ./honest -run TestHonestCustomers -v -all [-away 10m]
//
// measures another build.
//
//	servers.go    the servers, and a switch in front of Redis
//	customers.go  the callers, and what they saw
//	faults.go     what happens to Redis
package honest

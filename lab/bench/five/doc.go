// Package five contains the same five programs, written with Headgate and with four other limiters, as far as each
// limiter supports them. A test runs the programs, and compares this table with them: the lines of each function, and the
// distinct names from the limiter and its helpers. A dash means that the program cannot be written with the limiter.
//
//	| program | Headgate | x/time/rate | ulule/limiter | redis_rate | httprate |
//	|---|---|---|---|---|---|
//	| calls | 5, 6 | 2, 2 | – | – | – |
//	| users | 5, 6 | 10, 4 | 5, 5 | – | – |
//	| server | 2, 5 | – | 2, 5 | – | 1, 1 |
//	| worker | 5, 5 | 2, 2 | – | – | – |
//	| shared | 9, 9 | – | 9, 7 | 5, 6 | – |
//
// x/time/rate and httprate are shorter where they are possible, because they have no policy and no error.
//
//	calls    10 calls a second and 20 at once, in memory
//	users    5 requests a minute from each user, in memory
//	server   an HTTP server that allows each address 60 requests a minute
//	worker   a worker that waits for its turn: 10 a second
//	shared   5 requests a minute from each user, counted on Redis
package five

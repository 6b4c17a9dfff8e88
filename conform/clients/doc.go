// Package clients tests the server with Redis clients that people use:
// redis-cli, redis-benchmark, go-redis, rueidis, ioredis; and the programs in other
// languages, over RESP and HTTP, that the documentation has.
package clients

// Package clients tests the server with Redis clients that people use:
// redis-cli, redis-benchmark, go-redis, rueidis, ioredis.
package clients

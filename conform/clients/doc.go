// Package clients tests the server with popular Redis clients: redis-cli, redis-benchmark, go-redis, rueidis,
// ioredis; and with the programs in other languages from the documentation, over RESP and HTTP.
package clients

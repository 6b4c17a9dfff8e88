// Package clients tests the server with popular Redis clients: redis-cli, redis-benchmark, go-redis, rueidis and
// ioredis. It also tests the programs in other languages from the documentation, over RESP and HTTP.
package clients

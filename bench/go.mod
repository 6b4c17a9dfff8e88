module github.com/headgate/headgate/bench

go 1.26.0

require (
	github.com/go-redis/redis_rate/v10 v10.0.1
	github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe
	github.com/headgate/headgate v0.0.0
	github.com/headgate/headgate/adapter/rueidis v0.0.0
	github.com/headgate/headgate/server v0.0.0
	github.com/redis/go-redis/v9 v9.23.0
	github.com/redis/rueidis v1.0.79
	github.com/sethvargo/go-limiter v1.1.0
	github.com/throttled/throttled/v2 v2.15.0
	github.com/ulule/limiter/v3 v3.11.2
	golang.org/x/time v0.16.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/hashicorp/golang-lru v0.5.4 // indirect
	github.com/headgate/headgate/open v0.0.0
	github.com/pkg/errors v0.9.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/headgate/headgate/server => ../server

replace github.com/headgate/headgate => ../

replace github.com/headgate/headgate/adapter/rueidis => ../adapter/rueidis

replace github.com/headgate/headgate/open => ../open

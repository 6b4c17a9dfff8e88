module github.com/headgate/headgate/open

go 1.26.0

require (
	github.com/headgate/headgate v0.0.0
	github.com/headgate/headgate/adapter/rueidis v0.0.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace github.com/headgate/headgate => ../

replace github.com/headgate/headgate/adapter/rueidis => ../adapter/rueidis

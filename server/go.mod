module github.com/headgate/headgate/server

go 1.26

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/headgate/headgate v0.0.0
)

replace github.com/headgate/headgate => ../

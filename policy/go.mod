module github.com/headgate/headgate/policy

go 1.26.0

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/headgate/headgate v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require (
	golang.org/x/text v0.14.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)

replace github.com/headgate/headgate => ../

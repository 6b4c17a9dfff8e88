module github.com/headgate/headgate/server

go 1.26.0

require (
	github.com/goccy/go-yaml v1.19.2
	github.com/headgate/headgate v0.0.0
	github.com/spf13/cobra v1.10.2
)

require (
	github.com/HdrHistogram/hdrhistogram-go v1.4.0
	github.com/fsnotify/fsnotify v1.10.1
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	go.uber.org/goleak v1.3.0
)

require (
	github.com/redis/rueidis v1.0.79 // indirect
	golang.org/x/text v0.43.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
)

require (
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

require (
	github.com/headgate/headgate/adapter/rueidis v0.0.0 // indirect
	github.com/headgate/headgate/open v0.0.0
	github.com/headgate/headgate/policy v0.0.0
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/spf13/pflag v1.0.9 // indirect
	golang.org/x/net v0.62.0
)

replace github.com/headgate/headgate => ../

replace github.com/headgate/headgate/adapter/rueidis => ../adapter/rueidis

replace github.com/headgate/headgate/open => ../open

replace github.com/headgate/headgate/policy => ../policy

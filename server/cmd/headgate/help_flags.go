package main

import "github.com/spf13/cobra"

// flagGroup is a group of flags in a command's help.
type flagGroup struct {
	title string
	names []string
}

// flagGroups lists the flag groups of commands with many flags, in the order of the help. All other flags, including
// --help, are in a last group without a title.
var flagGroups = map[string][]flagGroup{
	"serve":   processGroups,
	"gateway": processGroups,
	"replay": {
		{"Log", []string{"format", "host"}},
		{"Decide", []string{"config", "compare", "max-keys"}},
		{"Suggest", []string{"suggest", "key", "path", "trusted-proxies", "deny", "write-config"}},
		{"Output", []string{"output", "top"}},
	},
	"bench": {
		{"Target", []string{"target", "policy", "limit", "timeout"}},
		{"Load", []string{"keys", "distribution", "callers", "rate", "duration"}},
	},
}

// processGroups lists the flag groups of serve and gateway.
var processGroups = []flagGroup{
	{"Policies", []string{"config", "state-file", "failure", "no-inline", "max-inline-keys", "allow-writes", "unmatched", "cors-origin"}},
	{"Store", []string{
		"store", "store-password-file", "deadline", "lease-life", "lease-units", "expect-processes", "max-keys",
		"snapshot", "snapshot-every", "hash-keys-file",
	}},
	{"Listener", []string{"resp", "resp-idle", "http", "grpc", "grpc-deadline", "grpc-max-age", "grpc-max-age-grace", "users-file", "peer-share", "tls-cert", "tls-key", "tls-client-ca"}},
	{"Upstream", []string{"upstream", "upstream-ca", "upstream-timeout", "stall-timeout", "body-rate", "max-waiting"}},
	{"Readiness", []string{"ready-path", "ready-needs-store", "ready-needs-domain", "drain"}},
	{"Envoy", []string{
		"envoy-config", "envoy-semantics", "envoy-force", "envoy-merge-domains", "envoy-shadow", "envoy-quota", "envoy-metadata", "envoy-headers",
		"envoy-near-limit", "envoy-metrics",
	}},
	{"Operator", []string{"admin", "admin-token-file", "admin-host", "audit-sample"}},
	{"Log and trace", []string{
		"log-level", "log-format", "log-denied", "log-keys", "otlp-traces", "trace-sample", "trace-keys",
	}},
}

// connection returns the group of the flags for connecting to a server. With --cert, --key names a private key;
// otherwise it is the key of a request.
func connection(c *cobra.Command) flagGroup {
	group := flagGroup{"Server", []string{"admin", "server", "ca", "cert", "token-file", "timeout"}}
	if c.Flags().Lookup("cert") != nil {
		group.names = append(group.names, "key")
	}
	return group
}

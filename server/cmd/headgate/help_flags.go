package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serverFlags is the title of the group of flags for connecting to a server.
const serverFlags = "Server"

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
		{"Log", []string{"format", "field", "host", "from", "until"}},
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

// connection lists the flags for connecting to a server, which are the same for every command.
var connection = []string{"admin", "server", "ca", "cert", "token-file", "timeout"}

// groupOf returns the title of a flag's group in a command's help, or "" if the flag is in no group.
func groupOf(c *cobra.Command, f *pflag.Flag) string {
	for _, group := range flagGroups[c.Name()] {
		if slices.Contains(group.names, f.Name) {
			return group.title
		}
	}
	_, grouped := flagGroups[c.Name()]
	// --key names a private key if the command also has --cert. Otherwise it is the key of a request.
	private := f.Name == "key" && c.Flags().Lookup("cert") != nil
	if !grouped && (slices.Contains(connection, f.Name) || private) {
		return serverFlags
	}
	return ""
}

// inOrder returns titles in the order of the command's groups. Ungrouped flags come last or, in a command without
// groups, first.
func inOrder(c *cobra.Command, titles []string) []string {
	groups := flagGroups[c.Name()]
	place := func(title string) int {
		if title == "" && groups != nil {
			return len(groups)
		}
		return slices.IndexFunc(groups, func(g flagGroup) bool { return g.title == title })
	}
	slices.SortFunc(titles, func(a, b string) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
	return titles
}

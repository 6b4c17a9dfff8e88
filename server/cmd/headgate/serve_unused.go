package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

// refuseEmpty rejects files and addresses that are set but empty, for example from an unset shell variable. If it did
// not, the server would start as if the flag were missing, without users or TLS.
func refuseEmpty(c *cobra.Command) error {
	var errs []error
	c.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() != "string" || f.Value.String() != "" {
			return
		}
		switch name, _ := pflag.UnquoteUsage(f); name {
		case "file", "directory", "path":
			errs = append(errs, fmt.Errorf("--%s \"\": accepted: a %s; leave the flag out for none", f.Name, name))
		case "address": // would mean any port on all interfaces
			accepted := "host:port, or off"
			if f.Name == "grpc" {
				accepted = "host:port, unix:/path, or off"
			}
			errs = append(errs, fmt.Errorf("--%s \"\": accepted: %s", f.Name, accepted))
		case "URL":
			accepted := "a URL; leave the flag out for none"
			if f.Name == "store" {
				accepted = open.Accepted
			}
			errs = append(errs, fmt.Errorf("--%s \"\": accepted: %s", f.Name, accepted))
		}
	})
	return errors.Join(errs...)
}

// refuseUnused rejects flags that have no effect because of other flags or the policies file. Without the error,
// operators would believe that such a flag applies.
func refuseUnused(c *cobra.Command, f *serveFlags) error {
	memory, redis := f.Store == open.Memory, f.Store != open.Memory
	noAdmin := f.Admin.Address == daemon.Off
	noRules := f.GRPC.EnvoyConfig == ""
	var errs []error
	for _, u := range []struct {
		unused   bool
		accepted string
		flags    []string
	}{
		{f.Snapshot == "", "only with --snapshot", []string{"snapshot-every"}},
		{redis, "only with --store memory: the maxmemory of a Redis bounds its keys", []string{"max-keys", "max-inline-keys"}},
		{memory, "only on Redis: in memory no units are taken ahead", []string{"lease-life", "lease-units"}},
		{memory, "only on Redis: a store in memory is one server's", []string{"expect-processes"}},
		{memory, "only on Redis: a store in memory always answers", []string{"ready-needs-store"}},
		{memory, "only on Redis: memory has no password", []string{"store-password-file"}},
		{noAdmin, "only with --admin", []string{"admin-token-file"}},
		{f.GRPC.Address == daemon.Off && noRules, "only with --grpc or --envoy-config", []string{"grpc-deadline", "grpc-max-age", "grpc-max-age-grace"}},
		{noRules, "only with --envoy-config", []string{
			"envoy-semantics", "envoy-force", "envoy-merge-domains", "envoy-shadow", "envoy-quota", "envoy-metadata", "envoy-headers", "envoy-near-limit",
			"ready-needs-domain",
		}},
		{f.NoInline, "only without --no-inline", []string{"max-inline-keys"}},
		{f.usersFile != "", "only without --users-file, whose users may: [write]", []string{"allow-writes"}},
		{f.LogDenied == 0 && !f.TraceKeys && noAdmin, "only with --log-denied, --trace-keys or --admin", []string{"log-keys"}},
	} {
		for _, name := range u.flags {
			if u.unused && given(c, name) {
				errs = append(errs, fmt.Errorf("--%s: accepted: %s", name, u.accepted))
			}
		}
	}
	return errors.Join(errs...)
}

// given reports whether a flag is set to a value that enables something.
func given(c *cobra.Command, name string) bool {
	f := c.Flags().Lookup(name)
	if f == nil || !f.Changed {
		return false
	}
	none := f.Value.Type() == "bool" && f.Value.String() == strconv.FormatBool(false) ||
		f.Value.Type() == "int" && f.Value.String() == "0"
	return !none
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/daemon"
)

// adminFlags holds the flags of serve for the admin listener.
type adminFlags struct {
	admin, tokenFile string
	hosts            []string
	audit            int
}

func (f *adminFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.admin, "admin", daemon.Off, "`address` for operators: page, metrics, policies, keys, profiles; or off")
	flags.StringVar(&f.tokenFile, "admin-token-file", "", "`file` with the operators: users that may read or operate, or one or two tokens, one per line, and lines \"read TOKEN\" with read-only tokens; without it --admin must be on loopback")
	flags.IntVar(&f.audit, "audit-sample", 0, "audit one key in this many, 1 to 1048576: metrics count the units by which this server exceeded its limit; 0 audits none")
	flags.StringSliceVar(&f.hosts, "admin-host", nil, "another host `name` of this server, besides its address and localhost, for operators' browsers and /v1/policies; can be repeated")
}

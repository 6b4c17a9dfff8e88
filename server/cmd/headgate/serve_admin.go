package main

import (
	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/daemon"
)

// adminFlags holds the flags of serve for the admin listener.
type adminFlags struct {
	address, tokenFile string
	hosts              []string
	envoy              bool
	audit              int
}

func (f *adminFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.address, "admin", daemon.Off, "`address` for operators: their page, metrics, policies, keys, profiles; or off")
	flags.StringVar(&f.tokenFile, "admin-token-file", "", "`file` with the operators: users that may read or operate, or one or two tokens, one a line, and lines read TOKEN with tokens that may only read; without it --admin is on loopback")
	flags.IntVar(&f.audit, "audit-sample", 0, "audit one key of so many, 1 to 1048576: metrics say by how many units this server exceeded their limits; 0 audits none")
	flags.StringSliceVar(&f.hosts, "admin-host", nil, "`name` that operators call this server by, besides its address and localhost; can be repeated")
}

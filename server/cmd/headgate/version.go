package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is the version of a released binary. The linker sets it.
var release string

// buildInfo identifies the source of a binary.
type buildInfo struct {
	// Version is a tag, a pseudo-version with the commit, or devel.
	Version string `json:"version"`
	// Commit is the hash of the commit that the binary was built from, and Date is its time. They are "" in a
	// release, and if the binary was not built in a clone.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	// Modified is true if the clone had uncommitted changes.
	Modified bool `json:"modified,omitempty"`
}

// build returns the version and commit of this binary.
func build() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(release, info)
}

// buildOf converts the build information recorded by the Go command. If release is not "", it is the version, and the
// commit is omitted.
func buildOf(release string, info *debug.BuildInfo) buildInfo {
	b := buildInfo{Version: release}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
	}
	if release != "" { // the release's tag identifies the commit
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String formats the build on one line.
func (b buildInfo) String() string {
	if b.Commit == "" {
		return b.Version
	}
	changed := ""
	if b.Modified {
		changed = ", with changes"
	}
	return fmt.Sprintf("%s (commit %s of %s%s)", b.Version, b.Commit[:min(len(b.Commit), 12)], b.Date, changed)
}

// version returns the version of this binary without its commit.
func version() string { return build().Version }

func newVersion() *cobra.Command {
	var output outputFlag
	c := &cobra.Command{
		Use: "version", Short: "Print the version, and the commit and date of a build from a clone", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if output.json() {
				return writeJSON(c.OutOrStdout(), build())
			}
			fmt.Fprintln(c.OutOrStdout(), "headgate "+build().String())
			return nil
		},
	}
	output.addTo(c.Flags())
	return c
}

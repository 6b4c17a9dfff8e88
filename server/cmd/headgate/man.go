//go:build man

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// The command exists only in builds with the tag man, so that released binaries do not contain the page generator.
func init() { extra = append(extra, newMan) }

func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write the manual pages into a folder", Hidden: true, Args: exactly("FOLDER"),
		Long: "Write the manual pages into a folder. SOURCE_DATE_EPOCH is their date, in seconds.",
		RunE: func(c *cobra.Command, args []string) error {
			seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
			if err != nil {
				return fmt.Errorf("SOURCE_DATE_EPOCH %q: accepted: the seconds of the commit's time", os.Getenv("SOURCE_DATE_EPOCH"))
			}
			date := time.Unix(seconds, 0).UTC()
			root := c.Root()
			root.DisableAutoGenTag = true
			root.InitDefaultCompletionCmd()
			header := &doc.GenManHeader{Section: "1", Date: &date, Source: root.Version, Manual: "Headgate"}
			return doc.GenManTree(root, header, args[0])
		},
	}
}

package main

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// times formats a key's count, followed by its bounds if the count is an estimate.
func times(k *adminapi.TopKey) string {
	if k.Least == k.Most {
		return format.Counted(k.Count, "time")
	}
	return fmt.Sprintf("%s (%d to %d)", format.Counted(k.Count, "time"), k.Least, k.Most)
}

func newTop() *cobra.Command {
	a := new(adminClient)
	var by, window, policy string
	var n int
	c := &cobra.Command{
		Use:   "top",
		Short: "Print the keys with the most requests or denials",
		Long: `Print the keys with the most requests or denials of the last minute or hour. Counts are
estimates with bounds: the columns from and to.`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			for _, flag := range []string{"by", "window"} {
				if word := c.Flags().Lookup(flag).Value.String(); !slices.Contains(flagWords[flag], word) {
					return unknownWord(flag, word)
				}
			}
			query := url.Values{"by": {by}, "window": {window}, "policy": {policy}, "n": {strconv.Itoa(n)}}
			return request(c, a, adminapi.ListTop.With(query), nil, writeTop)
		},
	}
	a.addTo(c)
	flags := c.Flags()
	flags.StringVar(&by, "by", "requests", "requests, denials, newly-denied or newly-allowed")
	flags.StringVar(&window, "window", "1m", "1m or 1h")
	flags.StringVar(&policy, "policy", "", "show only this policy; by default all")
	flags.IntVarP(&n, "n", "n", 20, "number of keys, 1 to 1000")
	return c
}

// writeTop prints keys with their counts as a table.
func writeTop(w io.Writer, answer *adminapi.TopKeys) {
	sampled := ""
	if answer.Sampled {
		sampled = ", sampled"
	}
	fmt.Fprintf(w, "%s in %.0f s%s%s\n", answer.By, answer.Span, sampled, onServer(answer.Server))
	if len(answer.Keys) == 0 {
		fmt.Fprintln(w, "none")
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "per s\tcount\tfrom\tto\tpolicy\tkey")
	for i := range answer.Keys {
		k := &answer.Keys[i]
		fmt.Fprintf(table, "%.1f\t%d\t%d\t%d\t%s\t%s\n", k.Rate, k.Count, k.Least, k.Most, k.Policy, keyText(k.KeyFields))
	}
	_ = table.Flush() // the output remembers its errors
}

// onServer returns a comma and the name of the server that counted. It returns "" for an older server, which does not
// report its name.
func onServer(s *adminapi.Server) string {
	if s == nil {
		return ""
	}
	return ", " + s.String()
}

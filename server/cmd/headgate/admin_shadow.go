package main

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/adminapi"
)

func newShadow() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "shadow", Short: "Show what the shadows of policies would change"}
	a.addTo(c)
	c.AddCommand(&cobra.Command{
		Use: "diff [POLICY]", Short: "Compare live answers with those that a shadow would give",
		Long: `Compare live answers with those that the shadow of a policy would give, since its limits came
into force: how many requests it would newly deny, and how many it would newly allow.
headgate top --by newly-denied prints the keys of these requests in the last minute.`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				query.Set("policy", args[0])
			}
			return request(c, a, adminapi.ListShadows.With(query), nil, func(w io.Writer, answer *adminapi.Shadows) {
				for i := range answer.Shadows {
					writeShadow(w, &answer.Shadows[i], time.Now())
				}
				if len(answer.Shadows) == 0 {
					fmt.Fprintln(w, "no policy has a shadow")
				}
			})
		},
	})
	return c
}

func writeShadow(w io.Writer, c *adminapi.Shadow, now time.Time) {
	live := "nothing"
	if len(c.Limits) > 0 {
		live = strings.Join(c.Limits, ", ")
	}
	fmt.Fprintf(w, "%s: live %s; shadow %s; for %s\n", c.Policy, live, strings.Join(c.Shadow, ", "), now.Sub(c.Since).Round(time.Second))
	all := c.BothAllowed + c.BothDenied + c.NewlyDenied + c.NewlyAllowed
	share := func(n uint64) string {
		return fmt.Sprintf("%d of %d (%.2f %%)", n, all, 100*float64(n)/float64(max(all, 1)))
	}
	fmt.Fprintf(w, "  same answer    %s: %d allowed, %d denied\n", share(c.BothAllowed+c.BothDenied), c.BothAllowed, c.BothDenied)
	fmt.Fprintf(w, "  newly denied   %s\n", share(c.NewlyDenied))
	fmt.Fprintf(w, "  newly allowed  %s\n", share(c.NewlyAllowed))
	if c.Unknown > 0 {
		fmt.Fprintf(w, "  not compared   %d, because the store was away\n", c.Unknown)
	}
}

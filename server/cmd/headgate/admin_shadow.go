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

// shadowKeys lists the keys whose answers a shadow would change.
type shadowKeys struct {
	Denied  *adminapi.TopKeys `json:"newly_denied"`
	Allowed *adminapi.TopKeys `json:"newly_allowed"`
}

// maxShadowKeys is the maximum number of keys printed per policy.
const maxShadowKeys = 10

func newShadow() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "shadow", Short: "Show what the shadows of policies would change"}
	a.addTo(c)
	c.AddCommand(&cobra.Command{
		Use: "diff [POLICY]", Short: "Compare live answers with those that a shadow would give, and print the keys that differ",
		Long: `Compare live answers with those that the shadow of a policy would give, since its limits came
into force: how many requests it would newly deny, and how many it would newly allow. Of one
policy, the keys of these requests in the last minute too.`,
		Args: atMostOne,
		RunE: func(c *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				query.Set("policy", args[0])
			}
			return shadowDiff(c, a, query)
		},
	})
	return c
}

func shadowDiff(c *cobra.Command, a *adminClient, query url.Values) error {
	shadows, _, err := send(c.Context(), a, adminapi.ListShadows.With(query), nil)
	if err != nil {
		return err
	}
	answer := struct {
		*adminapi.Shadows
		Keys *shadowKeys `json:"keys,omitempty"`
	}{Shadows: shadows}
	if query.Has("policy") {
		answer.Keys = new(shadowKeys)
		for by, to := range map[string]**adminapi.TopKeys{"newly-denied": &answer.Keys.Denied, "newly-allowed": &answer.Keys.Allowed} {
			top := url.Values{"by": {by}, "policy": query["policy"], "n": {fmt.Sprint(maxShadowKeys)}}
			if *to, _, err = send(c.Context(), a, adminapi.ListTop.With(top), nil); err != nil {
				return err
			}
		}
	}
	w := c.OutOrStdout()
	if a.output.json() {
		return writeJSON(w, answer)
	}
	for i := range shadows.Shadows {
		writeShadow(w, &shadows.Shadows[i], time.Now())
	}
	if len(shadows.Shadows) == 0 {
		fmt.Fprintln(w, "no policy has a shadow")
	}
	answer.Keys.write(w)
	return nil
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

func (k *shadowKeys) write(w io.Writer) {
	if k == nil {
		return
	}
	for _, of := range []struct {
		title string
		keys  *adminapi.TopKeys
	}{{"newly denied", k.Denied}, {"newly allowed", k.Allowed}} {
		if len(of.keys.Keys) == 0 {
			continue
		}
		fmt.Fprintf(w, "keys %s in %.0f s\n", of.title, of.keys.Span)
		for i := range of.keys.Keys {
			fmt.Fprintf(w, "  %s: %s\n", keyText(of.keys.Keys[i].KeyFields), times(&of.keys.Keys[i]))
		}
	}
}

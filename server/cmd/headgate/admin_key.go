package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type (
	explanation struct {
		key

		Counted         string `json:"counted_as"`
		OldSecret       bool   `json:"old_secret"`
		OverrideUnknown bool   `json:"override_unknown"`

		Policy  string     `json:"policy"`
		Cost    int64      `json:"cost"`
		Allowed bool       `json:"allowed"`
		Never   bool       `json:"never"`
		FreesAt *time.Time `json:"frees_at"`
		Limits  []standing `json:"limits"`
	}
	standing struct {
		Policy     string  `json:"policy"`
		Limit      string  `json:"limit"`
		Rule       string  `json:"rule"`
		From       string  `json:"from"`
		Change     *change `json:"change"`
		Shadow     bool    `json:"shadow"`
		Decides    bool    `json:"decides"`
		Allowed    bool    `json:"allowed"`
		Capacity   *int64  `json:"capacity"`
		Remaining  *int64  `json:"remaining"`
		RetryAfter *int64  `json:"retry_after_ms"`
		ResetAfter int64   `json:"reset_after_ms"`
		Error      string  `json:"error"`
	}
)

func newKey() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "key", Short: "Explain a key, give units back, or reset it, over the admin listener"}
	a.addTo(c)
	c.AddCommand(newKeyExplain(a), newKeyGive(a), newKeyReset(a))
	return c
}

func newKeyExplain(a *adminClient) *cobra.Command {
	var policy string
	var cost int64
	c := &cobra.Command{
		Use: "explain KEY", Short: "Print how a key stands under each limit, what decides, and until when", Args: exactly("KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			body := struct {
				key

				Policy string `json:"policy,omitempty"`
				Cost   *int64 `json:"cost,omitempty"`
			}{key: keyOf(args[0]), Policy: policy}
			if c.Flags().Changed("cost") {
				body.Cost = &cost
			}
			type answer struct {
				Explanations    []explanation
				OverrideUnknown bool `json:"override_unknown"`
			}
			return request(c, a, http.MethodPost, "/admin/v1/keys/explain", &body, func(w io.Writer, answer *answer) {
				switch {
				case len(answer.Explanations) > 0:
				case answer.OverrideUnknown:
					fmt.Fprintln(w, "every limit is untouched"+withoutOverrides)
				default:
					fmt.Fprintln(w, "every limit is untouched, and no override is of this key")
				}
				for i := range answer.Explanations {
					answer.Explanations[i].write(w)
				}
			})
		},
	}
	c.Flags().StringVar(&policy, "policy", "", "the only policy; by default all that have counted the key")
	c.Flags().Int64Var(&cost, "cost", 1, "units; by default the policy's own cost")
	return c
}

// verdict says in words what a take would be answered.
func (e *explanation) verdict() string {
	switch {
	case e.Allowed:
		return "allowed"
	case e.Never:
		return "refused: the cost never passes"
	case e.FreesAt != nil:
		return "refused until " + e.FreesAt.Format("2006-01-02T15:04:05.999Z07:00")
	default:
		return "not known"
	}
}

// withoutOverrides is said of a hash whose key is not known.
const withoutOverrides = ", without overrides of a key or pattern that is not known"

// hash says in words what the key is counted under.
func (e *explanation) hash() string {
	text := ""
	if e.Counted != "" && e.Counted != e.Key {
		text = " as " + e.Counted
	}
	if e.OldSecret {
		text += " of the old secret"
	}
	return text + e.unknown()
}

// unknown says that an override may apply that the explanation is without.
func (e *explanation) unknown() string {
	if e.OverrideUnknown {
		return withoutOverrides
	}
	return ""
}

func (e *explanation) write(w io.Writer) {
	fmt.Fprintf(w, "%s%s, policy %s, cost %d: %s\n", e.key, e.hash(), e.Policy, e.Cost, e.verdict())
	for i := range e.Limits {
		fmt.Fprintf(w, "  %s\n", e.Limits[i].text())
	}
}

func (s *standing) text() string {
	var words []string
	if s.Decides {
		words = append(words, "decides")
	}
	if s.Shadow {
		words = append(words, "shadow")
	}
	if s.Error != "" {
		words = append(words, "not known: "+s.Error)
	}
	if s.Remaining != nil {
		words = append(words, fmt.Sprintf("remaining %d of %d", *s.Remaining, *s.Capacity))
	}
	if s.RetryAfter != nil {
		words = append(words, "passes in "+milliseconds(*s.RetryAfter))
	}
	if s.ResetAfter > 0 {
		words = append(words, "untouched in "+milliseconds(s.ResetAfter))
	}
	if s.Rule != "" {
		words = append(words, "override "+printable(s.Rule))
	}
	if s.Change != nil {
		words = append(words, "change "+s.Change.text())
	}
	return s.Policy + ": " + s.Limit + ": " + strings.Join(words, ", ")
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

// units is the body of give and reset.
type units struct {
	key

	Policy string `json:"policy"`
	Units  *int64 `json:"units,omitempty"`
	Author string `json:"author"`
	Reason string `json:"reason,omitempty"`
}

func newKeyGive(a *adminClient) *cobra.Command {
	var operator by
	var n int64
	c := &cobra.Command{
		Use: "give POLICY KEY", Short: "Give units back to a key", Args: exactly("POLICY", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			body := units{key: keyOf(args[1]), Policy: args[0], Author: operator.author, Reason: operator.reason}
			if c.Flags().Changed("n") {
				body.Units = &n
			}
			type answer struct {
				Remaining int64
				Unlimited bool
			}
			return request(c, a, http.MethodPost, "/admin/v1/keys/give", &body, func(w io.Writer, given *answer) {
				if given.Unlimited {
					given.Remaining = -1
				}
				fmt.Fprintf(w, "remaining %s\n", orUnlimited(given.Remaining))
			})
		},
	}
	operator.addTo(c)
	c.Flags().Int64VarP(&n, "n", "n", 1, "units; by default the policy's own cost")
	return c
}

func newKeyReset(a *adminClient) *cobra.Command {
	var operator by
	c := &cobra.Command{
		Use: "reset POLICY KEY", Short: "Forget what a key has spent", Args: exactly("POLICY", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			body := units{key: keyOf(args[1]), Policy: args[0], Author: operator.author, Reason: operator.reason}
			return request(c, a, http.MethodPost, "/admin/v1/keys/reset", &body, func(w io.Writer, answer *struct{ Found bool }) {
				text := "nothing was stored"
				if answer.Found {
					text = "forgotten"
				}
				fmt.Fprintln(w, text)
			})
		},
	}
	operator.addTo(c)
	return c
}

func newLimited() *cobra.Command {
	a := new(adminClient)
	var policy string
	var n int
	c := &cobra.Command{
		Use: "limited", Short: "Print the keys that were refused most in the last minute, by which limit, and until when", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{"n": {strconv.Itoa(n)}, "policy": {policy}}
			type limited struct {
				Refusals    topKey
				Explanation *explanation
			}
			return request(c, a, http.MethodGet, "/admin/v1/keys/limited?"+query.Encode(), nil, func(w io.Writer, answer *struct{ Keys []limited }) {
				if len(answer.Keys) == 0 {
					fmt.Fprintln(w, "no request was refused in the last minute")
				}
				for _, one := range answer.Keys {
					fmt.Fprintf(w, "%s refused %s: ", one.Refusals.key, one.Refusals.times())
					if one.Explanation == nil {
						fmt.Fprintf(w, "%s\n", one.Refusals.Policy)
						continue
					}
					fmt.Fprintf(w, "policy %s%s: now %s\n", one.Explanation.Policy, one.Explanation.unknown(), one.Explanation.verdict())
					for i := range one.Explanation.Limits {
						fmt.Fprintf(w, "  %s\n", one.Explanation.Limits[i].text())
					}
				}
			})
		},
	}
	a.addTo(c)
	c.Flags().StringVar(&policy, "policy", "", "the only policy; by default all")
	c.Flags().IntVarP(&n, "n", "n", 20, "how many keys, 1 to 100")
	return c
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
)

func newKey() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "key", Short: "Explain a key, give units back, or reset it, over the admin listener"}
	a.addTo(c)
	c.AddCommand(newKeyExplain(a), newKeyGive(a), newKeyReset(a))
	return c
}

func newKeyExplain(a *adminClient) *cobra.Command {
	var policy, class string
	var cost int64
	c := &cobra.Command{
		Use: "explain KEY", Short: "Print a key's state under each limit, the limit that decides, and until when", Args: exactly("KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			body := adminapi.KeyAndCost{KeyAndPolicy: adminapi.KeyAndPolicy{KeyFields: named(args[0]), Policy: policy}, Class: class}
			if c.Flags().Changed("cost") {
				body.Cost = &cost
			}
			return request(c, a, adminapi.ExplainKey, &body, func(w io.Writer, answer *adminapi.Explanations) {
				if answer.StoreAway != "" {
					fmt.Fprintln(w, "the store is away ("+answer.StoreAway+"): the failure mode of each policy decides requests")
				}
				switch {
				case len(answer.Explanations) > 0:
				case answer.OverrideUnknown:
					fmt.Fprintln(w, "no limit has been used"+withoutOverrides)
				default:
					fmt.Fprintln(w, "no limit has been used, and no override sets a limit of this key")
				}
				for i := range answer.Explanations {
					writeExplanation(w, &answer.Explanations[i])
				}
				for i := range answer.Open {
					writeOpen(w, &answer.Open[i])
				}
			})
		},
	}
	c.Flags().StringVar(&policy, "policy", "", "show only this policy; by default all that have counted the key")
	addCost(c, &cost)
	c.Flags().StringVar(&class, "class", "", "the class of the request; by default the last of each policy")
	return c
}

// named returns the key that an argument names, in the form of overrides.
func named(argument string) adminapi.KeyFields {
	return adminapi.NewKey(policy.OverrideKey(argument))
}

// verdict describes in words whether a request would pass, and which failure mode answers it.
func verdict(e *adminapi.Explanation) string {
	text := answerText(e)
	if e.Failure != "" {
		text += ", by failure mode " + e.Failure
	}
	return text
}

func answerText(e *adminapi.Explanation) string {
	switch {
	case e.Allowed:
		return "allowed"
	case e.Never && slices.ContainsFunc(e.Limits, func(s adminapi.Standing) bool { return s.Decides && s.Limit == "deny" }):
		return "denied: the limit is deny"
	case e.Never:
		return "denied: the cost never passes"
	case e.FreesAt != nil:
		return "denied until " + e.FreesAt.Format("2006-01-02T15:04:05.999Z07:00")
	case e.Failure != "":
		return "an error"
	default:
		return "not known"
	}
}

// withoutOverrides follows a key in the output if only its hash is known, so that overrides may be missing.
const withoutOverrides = ", without overrides of a key or pattern that is not known"

// hash returns the text that follows a key: the hash that it is counted under, if keys are hashed, and the note from
// unknown.
func hash(e *adminapi.Explanation) string {
	text := ""
	if e.Counted != "" && e.Counted != e.Key {
		text = " as " + e.Counted
	}
	if e.OldSecret {
		text += " of the old secret"
	}
	return text + unknown(e)
}

// unknown returns a note if an override may apply that the explanation does not include, and "" otherwise.
func unknown(e *adminapi.Explanation) string {
	if e.OverrideUnknown {
		return withoutOverrides
	}
	return ""
}

func writeExplanation(w io.Writer, e *adminapi.Explanation) {
	fmt.Fprintf(w, "%s%s, policy %s, cost %d: %s\n", keyText(e.KeyFields), hash(e), e.Policy, e.Cost, verdict(e))
	for i := range e.Limits {
		fmt.Fprintf(w, "  %s\n", standingText(&e.Limits[i]))
		if p := e.Limits[i].Pool; p != nil {
			fmt.Fprintf(w, "    all keys: %s\n", poolText(p))
		}
		if n := e.Limits[i].Strikes; n > 0 {
			fmt.Fprintf(w, "    strikes: %d\n", n)
		}
		if r := e.Limits[i].InForce; r != nil {
			fmt.Fprintf(w, "    rate in force: %s, changes: %d\n", r.Rate, r.Changes)
		}
		if names := e.Limits[i].StoredAs; len(names) > 0 {
			fmt.Fprintf(w, "    stored as: %s\n", printable(strings.Join(names, " ")))
		}
	}
}

// writeOpen prints an open reservation's charges and when the reservation ends.
func writeOpen(w io.Writer, o *adminapi.Open) {
	fmt.Fprintf(w, "open reservation %s until %s, then %s\n", o.ID, o.EndsAt.Format("2006-01-02T15:04:05.999Z07:00"), o.Unsettled)
	for i := range o.Charges {
		c := &o.Charges[i]
		fmt.Fprintf(w, "  %s, policy %s: %d units", keyText(c.KeyFields), cmp.Or(c.Policy, "none"), c.Units)
		if c.Reported > 0 {
			fmt.Fprintf(w, ", %d reported as used", c.Reported)
		}
		fmt.Fprintln(w)
	}
}

func poolText(p *adminapi.Pool) string {
	switch {
	case p.Permits:
		return fmt.Sprintf("%d of %d permits held, %d of them by this key, which can hold %d now; heavy keys: %d",
			p.Outstanding, p.Burst, p.OfKey, p.Part, p.HeavyKeys)
	case p.Groups:
		return fmt.Sprintf("%d of %d units outstanding, about %d of them of this key's group, whose fair part is %d; about %d groups, of at most %d, ask for more than they get",
			p.Outstanding, p.Burst, p.OfKey, p.Part, p.HeavyKeys, p.Burst-1)
	}
	return fmt.Sprintf("%d of %d units outstanding, about %d of them this key's, whose fair part is %d; about %d keys, of at most %d, ask for more than they get",
		p.Outstanding, p.Burst, p.OfKey, p.Part, p.HeavyKeys, p.Burst-1)
}

func standingText(s *adminapi.Standing) string {
	var words []string
	if s.Decides {
		words = append(words, "decides")
	}
	if s.Class != "" {
		words = append(words, "class "+s.Class)
	}
	if s.Shadow {
		words = append(words, "shadow")
	}
	if s.Error != "" {
		words = append(words, "not known: "+s.Error)
	}
	if s.Remaining != nil {
		words = append(words, strings.TrimRight(fmt.Sprintf("remaining %d of %d %s", *s.Remaining, *s.Capacity, s.Unit), " "))
	}
	if s.RetryAfter != nil {
		words = append(words, "passes in "+milliseconds(*s.RetryAfter))
	}
	if s.ResetAfter > 0 {
		words = append(words, "resets in "+milliseconds(s.ResetAfter))
	}
	if s.Rule != "" {
		words = append(words, "override "+printable(s.Rule))
	}
	if s.Change != nil {
		words = append(words, "change "+changeText(&s.Change.Change))
	}
	return s.Policy + ": " + s.Limit + ": " + strings.Join(words, ", ")
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

// unitsOf returns the body of a give or reset request.
func (b *by) unitsOf(of, key string) *adminapi.Units {
	return &adminapi.Units{KeyAndPolicy: adminapi.KeyAndPolicy{KeyFields: named(key), Policy: of}, Author: b.author, Reason: b.reason}
}

func newKeyGive(a *adminClient) *cobra.Command {
	var operator by
	var n int64
	c := &cobra.Command{
		Use: "give POLICY KEY", Short: "Give units back to a key", Args: exactly("POLICY", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			body := operator.unitsOf(args[0], args[1])
			if c.Flags().Changed("cost") {
				body.Units = &n
			}
			return request(c, a, adminapi.GiveUnits, body, func(w io.Writer, given *adminapi.Given) {
				if given.Unlimited {
					given.Remaining = -1
				}
				fmt.Fprintf(w, "remaining %s\n", orUnlimited(given.Remaining))
			})
		},
	}
	operator.addTo(c)
	addCost(c, &n)
	return c
}

func newKeyReset(a *adminClient) *cobra.Command {
	var operator by
	c := &cobra.Command{
		Use: "reset POLICY KEY", Short: "Forget what a key has spent, under a policy or one of its limits (free/minute)", Args: exactly("POLICY", "KEY"),
		RunE: func(c *cobra.Command, args []string) error {
			return request(c, a, adminapi.ResetKey, operator.unitsOf(args[0], args[1]), func(w io.Writer, answer *adminapi.Reset) {
				text := "nothing was stored"
				if answer.Found {
					text = "forgotten"
				}
				if answer.Found && answer.AllKeys {
					text += ", for all keys: they share the counter"
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
		Use: "limited", Short: "Print the keys that were denied most in the last minute, by which limit, and until when", Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{"n": {strconv.Itoa(n)}, "policy": {policy}}
			return request(c, a, adminapi.ListLimited.With(query), nil, func(w io.Writer, answer *adminapi.LimitedKeys) {
				fmt.Fprintf(w, "denials in %.0f s%s\n", answer.Span, onServer(answer.Server))
				if len(answer.Keys) == 0 {
					fmt.Fprintln(w, "no request was denied in the last minute")
				}
				for _, one := range answer.Keys {
					fmt.Fprintf(w, "%s denied %s: ", keyText(one.Denials.KeyFields), times(&one.Denials))
					if one.Explanation == nil {
						fmt.Fprintf(w, "%s\n", one.Denials.Policy)
						continue
					}
					fmt.Fprintf(w, "policy %s%s: now %s\n", one.Explanation.Policy, unknown(one.Explanation), verdict(one.Explanation))
					for i := range one.Explanation.Limits {
						fmt.Fprintf(w, "  %s\n", standingText(&one.Explanation.Limits[i]))
					}
				}
			})
		},
	}
	a.addTo(c)
	c.Flags().StringVar(&policy, "policy", "", "show only this policy; by default all")
	c.Flags().IntVarP(&n, "n", "n", 20, "how many keys, 1 to 100")
	return c
}

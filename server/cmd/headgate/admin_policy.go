package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/internal/format"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/adminapi"
)

// fieldsOf returns the fields of a change as JSON. A JSON object stays unchanged; any other text is a limit. For a key,
// the words deny and unlimited are accepted too.
func fieldsOf(text string, ofKey bool) json.RawMessage {
	switch {
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return json.RawMessage(text)
	case ofKey && (text == "deny" || text == "unlimited"):
		return json.RawMessage(`{"` + text + `":true}`)
	default:
		quoted, _ := json.Marshal(text) //nolint:errchkjson // a string
		return quoted
	}
}

// describe describes a policy in one line, with its overrides and the settings that differ from the defaults. It adds
// "(shadow)" to the limits whose indexes are in shadows. It returns "none" if the summary is nil.
func describe(s *policy.Summary, shadows ...int) string {
	if s == nil {
		return "none"
	}
	words := slices.Clone(s.Limits)
	for _, place := range shadows {
		if place >= 0 && place < len(words) {
			words[place] += " (shadow)"
		}
	}
	words = append(words, policy.NonDefaults(&s.Settings)...)
	for _, o := range s.Overrides {
		words = append(words, "key "+printable(o.Key)+": "+o.Limit)
	}
	return strings.Join(words, ", ")
}

// changeText describes a change in one line.
func changeText(c *adminapi.Change) string {
	by := printable(c.Author)
	if c.User != "" {
		by += " (user " + printable(c.User) + ")"
	}
	text := fmt.Sprintf("%s by %s at %s", c.Fields, by, c.At.Format(time.RFC3339))
	if c.Reason != "" {
		text += " (" + printable(c.Reason) + ")"
	}
	if !c.Expires.IsZero() {
		text += ", until " + c.Expires.Format(time.RFC3339)
	}
	return text
}

func newPolicy() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "policy", Short: "Show and change the policies of a server while it runs"}
	a.addTo(c)
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "Print the policies in force", Args: exactly(),
			RunE: func(c *cobra.Command, _ []string) error {
				return request(c, a, adminapi.ListPolicies, nil, func(w io.Writer, answer *adminapi.Policies) {
					for i := range answer.Policies {
						writePolicy(w, &answer.Policies[i])
					}
				})
			},
		},
		&cobra.Command{
			Use: "show POLICY", Short: "Print a policy: the file's part, the changes on top, the overrides", Args: exactly("POLICY"),
			RunE: func(c *cobra.Command, args []string) error {
				return request(c, a, adminapi.ShowPolicy.Of(args[0]), nil, writePolicy)
			},
		},
		newTry(a, false), newSet(a, false), newClear(a, false),
	)
	return c
}

func newOverride() *cobra.Command {
	a := new(adminClient)
	c := &cobra.Command{Use: "override", Short: "Change the limit of one key, or of the keys of a pattern, while a server runs"}
	a.addTo(c)
	c.AddCommand(
		&cobra.Command{
			Use: "list", Short: "Print all changes on top of the policies file", Args: exactly(),
			RunE: func(c *cobra.Command, _ []string) error {
				return request(c, a, adminapi.ListChanges, nil, func(w io.Writer, answer *adminapi.Changes) {
					for i := range answer.Changes {
						one := &answer.Changes[i]
						fmt.Fprintf(w, "%s: %s\n", strings.TrimSuffix(one.Policy+" "+printable(one.Key), " "), one.Before+" → "+one.After+", "+changeText(&one.Change))
						if one.Ignored != "" {
							fmt.Fprintf(w, "  ignored: %s\n", one.Ignored)
						}
					}
				})
			},
		},
		newTry(a, true), newSet(a, true), newClear(a, true),
	)
	return c
}

func writePolicy(w io.Writer, v *adminapi.PolicyView) {
	fmt.Fprintf(w, "%s: %s\n", v.Name, describe(&v.InForce, v.ShadowLimits...))
	if v.Change != nil {
		fmt.Fprintf(w, "  file: %s\n  change: %s\n", describe(v.File), changeText(&v.Change.Change))
	}
	for _, o := range v.Overrides {
		end := ""
		of := ""
		if o.Of != "" {
			of = ", " + v.Name + "/" + o.Of
		}
		fmt.Fprintf(w, "  key %s%s: %s", printable(o.Key), of, o.Limit)
		if o.Change != nil {
			fmt.Fprintf(w, " (change: %s", changeText(&o.Change.Change))
			if o.File != "" {
				fmt.Fprintf(w, "; file: %s", o.File)
			}
			end = ")"
		}
		fmt.Fprintln(w, end)
	}
	switch left := v.OverrideCount - len(v.Overrides); {
	case left > 0 && len(v.Overrides) == 0:
		fmt.Fprintf(w, "  %s: headgate policy show %s\n", format.Counted(int64(left), "override"), v.Name)
	case left > 0:
		fmt.Fprintf(w, "  and %s\n", format.Counted(int64(left), "more override"))
	}
}

// names returns the names of a command's arguments: POLICY, KEY if the command changes the limit of a key, and more.
func names(ofKey bool, more ...string) []string {
	if ofKey {
		return append([]string{"POLICY", "KEY"}, more...)
	}
	return append([]string{"POLICY"}, more...)
}

// change parses the arguments listed by names. An empty KEY, for example from an unset variable, is an error, because a
// change without a key applies to the whole policy.
func (b *by) change(args []string, ofKey bool) (*adminapi.NewChange, error) {
	c := &adminapi.NewChange{ChangeName: adminapi.ChangeName{Policy: args[0], Author: b.author, Reason: b.reason}}
	args = args[1:]
	if ofKey {
		if c.Key, args = &args[0], args[1:]; *c.Key == "" {
			return nil, errors.New("KEY is empty; accepted: a key, or a pattern with *; headgate policy changes the policy itself")
		}
	}
	if len(args) > 0 {
		if c.Fields = fieldsOf(args[0], ofKey); !json.Valid(c.Fields) {
			accepted := `an object such as '{"rate":"50/s"}', or a limit as text`
			if ofKey {
				accepted = `an object such as '{"set":{"rate":"50/s"}}', a limit as text, deny or unlimited`
			}
			return nil, fmt.Errorf("FIELDS %s is not JSON; accepted: %s", strconv.Quote(args[0]), accepted)
		}
	}
	return c, nil
}

const fieldsHelp = `FIELDS is JSON with the fields that change, such as '{"rate":"50/s"}', or a limit as text,
such as 50/s.`

const keyFieldsHelp = `KEY is a key, or a pattern with *. FIELDS is deny, unlimited, a limit as text such as 50/s, or JSON
such as '{"set":{"rate":"50/s"}}'. For a policy with several limits (all): deny or unlimited; one of
them is named with a slash, such as free/minute, or free/1 without a name.`

func help(ofKey bool) string {
	if ofKey {
		return keyFieldsHelp
	}
	return fieldsHelp
}

func newTry(a *adminClient, ofKey bool) *cobra.Command {
	words := names(ofKey, "FIELDS")
	return &cobra.Command{
		Use: "try " + strings.Join(words, " "), Short: "Print what a change would do, and change nothing", Args: exactly(words...), Long: help(ofKey),
		RunE: func(c *cobra.Command, args []string) error {
			body, err := new(by).change(args, ofKey)
			if err != nil {
				return err
			}
			return request(c, a, adminapi.TryChange, body, func(w io.Writer, answer *adminapi.Trial) {
				if len(answer.Policies) == 0 {
					fmt.Fprintln(w, "nothing would change")
				}
				for _, d := range answer.Policies {
					fmt.Fprintf(w, "%s\n  before: %s\n  after:  %s\n", d.Name, describe(d.Before), describe(&d.After))
				}
			})
		},
	}
}

func newSet(a *adminClient, ofKey bool) *cobra.Command {
	words := names(ofKey, "FIELDS")
	var operator by
	var lasts span
	var yes bool
	c := &cobra.Command{
		Use: "set " + strings.Join(words, " "), Short: "Make a change on top of the policies file", Args: exactly(words...), Long: help(ofKey),
		RunE: func(c *cobra.Command, args []string) error {
			body, err := operator.change(args, ofKey)
			if err != nil {
				return err
			}
			if !yes && deniesAll(body) {
				return fmt.Errorf("the change denies every request of policy %s; accepted: --yes with it, or the key or pattern of those to deny", body.Policy)
			}
			if lasts != 0 {
				body.For = time.Duration(lasts).String()
			}
			unseen := ofKey && !a.output.json() && neverCounted(c.Context(), a, &body.ChangeName)
			return request(c, a, adminapi.MakeChange, body, func(w io.Writer, made *adminapi.ActiveChange) {
				fmt.Fprintf(w, "changed: %s\n  before: %s\n  after:  %s\n", changeText(&made.Change), made.Before, made.After)
				if unseen {
					fmt.Fprintf(w, "note: %s counts nothing for the key %s now: compare it with the keys that headgate top prints\n", args[0], printable(args[1]))
				}
				if made.Policy != args[0] {
					fmt.Fprintf(w, "note: %s is the policy %s: the change applies wherever that policy is used\n", args[0], made.Policy)
				}
				if view, _, err := send(c.Context(), a, adminapi.ShowPolicy.Of(args[0]), nil); err == nil && view.File == nil {
					fmt.Fprintf(w, "note: the policies file has no policy %s; the change has added it\n", args[0])
				}
			})
		},
	}
	operator.addTo(c)
	c.Flags().BoolVar(&yes, "yes", false, "make a change that denies every request of the policy")
	c.Flags().Var(&lasts, "for", "how long the change lasts, such as 30m, 1h30m, 2d or 1w; 0 until it is cleared")
	return c
}

// deniesAll reports whether a change denies every request of a policy: deny for the policy itself, or for each key.
func deniesAll(c *adminapi.NewChange) bool {
	if c.Key != nil && strings.Trim(*c.Key, "*") != "" {
		return false
	}
	var fields struct{ Deny bool }
	var text string
	if json.Unmarshal(c.Fields, &text) == nil {
		return strings.TrimSpace(text) == "deny"
	}
	return json.Unmarshal(c.Fields, &fields) == nil && fields.Deny
}

// neverCounted reports whether the store has no state for the key of a change, perhaps because the key is misspelt. For
// a pattern, for a key with an override, or if the state of the key is not known, neverCounted returns false.
func neverCounted(ctx context.Context, a *adminClient, c *adminapi.ChangeName) bool {
	if policy.IsPattern(*c.Key) {
		return false
	}
	policyName, _, _ := strings.Cut(c.Policy, "/")
	body := adminapi.KeyAndCost{KeyAndPolicy: adminapi.KeyAndPolicy{KeyFields: named(*c.Key), Policy: policyName}}
	answer, _, err := send(ctx, a, adminapi.ExplainKey, &body)
	if err != nil || len(answer.Explanations) == 0 {
		return false
	}
	return !slices.ContainsFunc(answer.Explanations, func(e adminapi.Explanation) bool {
		return e.Failure != "" || slices.ContainsFunc(e.Limits, func(l adminapi.Standing) bool { return l.State || l.Rule != "" || l.Error != "" })
	})
}

func newClear(a *adminClient, ofKey bool) *cobra.Command {
	words := names(ofKey)
	var operator by
	c := &cobra.Command{
		Use: "clear " + strings.Join(words, " "), Short: "End a change; the policies file holds again", Args: exactly(words...),
		RunE: func(c *cobra.Command, args []string) error {
			body, err := operator.change(args, ofKey)
			if err != nil {
				return err
			}
			return request(c, a, adminapi.ClearChange, &body.ChangeName, func(w io.Writer, cleared *adminapi.Change) {
				fmt.Fprintf(w, "cleared: %s\n", changeText(cleared))
			})
		},
	}
	operator.addTo(c)
	return c
}

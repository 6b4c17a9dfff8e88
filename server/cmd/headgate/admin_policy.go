package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
)

func toBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// fieldsOf returns what a change has as JSON: an object as it is, anything else as a limit
// written as text. For a key, deny and unlimited are words.
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

// The answers of the admin listener, as far as they are printed.
type (
	change struct {
		Policy  string          `json:"policy"`
		Key     string          `json:"key"`
		Fields  json.RawMessage `json:"fields"`
		Author  string          `json:"author"`
		Reason  string          `json:"reason"`
		At      time.Time       `json:"at"`
		Expires time.Time       `json:"expires"`
		Version int64           `json:"version"`
	}
	policyView struct {
		Name         string          `json:"name"`
		InForce      *policy.Summary `json:"in_force"`
		File         *policy.Summary `json:"file"`
		ShadowLimits []int           `json:"shadow_limits"`
		Change       *change         `json:"change"`
		Overrides    []struct {
			Key    string  `json:"key"`
			Limit  string  `json:"limit"`
			File   string  `json:"file"`
			Change *change `json:"change"`
		} `json:"overrides"`
		OverrideCount int `json:"override_count"`
	}
)

// describe describes a policy in a line, with the settings that differ from the defaults and the
// overrides; nil is none. Of its limits, those at the places of shadows are marked.
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
	words = append(words, s.NonDefaults()...)
	for _, o := range s.Overrides {
		words = append(words, "key "+printable(o.Key)+": "+o.Limit)
	}
	return strings.Join(words, ", ")
}

// text describes a change in a line.
func (c *change) text() string {
	text := fmt.Sprintf("%s by %s at %s", c.Fields, printable(c.Author), c.At.Format(time.RFC3339))
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
				return request(c, a, http.MethodGet, "/admin/v1/policies", nil, func(w io.Writer, answer *struct{ Policies []policyView }) {
					for i := range answer.Policies {
						answer.Policies[i].write(w)
					}
				})
			},
		},
		&cobra.Command{
			Use: "show POLICY", Short: "Print a policy: the file's part, the changes on top, the overrides", Args: exactly("POLICY"),
			RunE: func(c *cobra.Command, args []string) error {
				return request(c, a, http.MethodGet, "/admin/v1/policies/"+url.PathEscape(args[0]), nil, func(w io.Writer, v *policyView) { v.write(w) })
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
				return request(c, a, http.MethodGet, "/admin/v1/changes", nil, func(w io.Writer, answer *struct{ Changes []change }) {
					for i := range answer.Changes {
						one := &answer.Changes[i]
						fmt.Fprintf(w, "%s: %s\n", strings.TrimSuffix(one.Policy+" "+printable(one.Key), " "), one.text())
					}
				})
			},
		},
		newTry(a, true), newSet(a, true), newClear(a, true),
	)
	return c
}

func (v *policyView) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", v.Name, describe(v.InForce, v.ShadowLimits...))
	if v.Change != nil {
		fmt.Fprintf(w, "  file: %s\n  change: %s\n", describe(v.File), v.Change.text())
	}
	for _, o := range v.Overrides {
		end := ""
		fmt.Fprintf(w, "  key %s: %s", printable(o.Key), o.Limit)
		if o.Change != nil {
			fmt.Fprintf(w, " (change: %s", o.Change.text())
			if o.File != "" {
				fmt.Fprintf(w, "; file: %s", o.File)
			}
			end = ")"
		}
		fmt.Fprintln(w, end)
	}
	if left := v.OverrideCount - len(v.Overrides); left > 0 {
		fmt.Fprintf(w, "  %d overrides are not listed\n", left)
	}
}

// names returns the arguments that name what is changed, with those after them.
func names(ofKey bool, more ...string) []string {
	if ofKey {
		return append([]string{"POLICY", "KEY"}, more...)
	}
	return append([]string{"POLICY"}, more...)
}

// changeBody is the body of a change.
type changeBody struct {
	Policy string          `json:"policy"`
	Key    string          `json:"key,omitempty"`
	Fields json.RawMessage `json:"fields,omitempty"`
	Author string          `json:"author,omitempty"`
	Reason string          `json:"reason,omitempty"`
	For    string          `json:"for,omitempty"`
}

// read reads the arguments that names has named. Without a key a change is of the whole policy,
// so an empty one, such as that of a variable that is not set, is an error.
func (r *changeBody) read(args []string, ofKey bool) error {
	r.Policy, args = args[0], args[1:]
	if ofKey {
		if r.Key, args = args[0], args[1:]; r.Key == "" {
			return errors.New("KEY is empty; accepted: a key, or a pattern with *; headgate policy changes the policy itself")
		}
	}
	if len(args) > 0 {
		r.Fields = fieldsOf(args[0], ofKey)
	}
	return nil
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
			var body changeBody
			if err := body.read(args, ofKey); err != nil {
				return err
			}
			type difference struct {
				Name          string
				Before, After *policy.Summary
			}
			return request(c, a, http.MethodPost, "/admin/v1/changes/try", &body, func(w io.Writer, answer *struct{ Policies []difference }) {
				if len(answer.Policies) == 0 {
					fmt.Fprintln(w, "nothing would change")
				}
				for _, d := range answer.Policies {
					fmt.Fprintf(w, "%s\n  before: %s\n  after:  %s\n", d.Name, describe(d.Before), describe(d.After))
				}
			})
		},
	}
}

func newSet(a *adminClient, ofKey bool) *cobra.Command {
	words := names(ofKey, "FIELDS")
	var operator by
	var lasts span
	c := &cobra.Command{
		Use: "set " + strings.Join(words, " "), Short: "Make a change on top of the policies file", Args: exactly(words...), Long: help(ofKey),
		RunE: func(c *cobra.Command, args []string) error {
			body := changeBody{Author: operator.author, Reason: operator.reason}
			if lasts != 0 {
				body.For = time.Duration(lasts).String()
			}
			if err := body.read(args, ofKey); err != nil {
				return err
			}
			return request(c, a, http.MethodPost, "/admin/v1/changes", &body, func(w io.Writer, made *change) {
				fmt.Fprintf(w, "changed: %s\n", made.text())
			})
		},
	}
	operator.addTo(c)
	c.Flags().Var(&lasts, "for", "how long the change lasts, such as 30m, 1h30m, 2d or 1w; 0 until it is cleared")
	return c
}

func newClear(a *adminClient, ofKey bool) *cobra.Command {
	words := names(ofKey)
	var operator by
	c := &cobra.Command{
		Use: "clear " + strings.Join(words, " "), Short: "End a change; the policies file holds again", Args: exactly(words...),
		RunE: func(c *cobra.Command, args []string) error {
			body := changeBody{Author: operator.author, Reason: operator.reason}
			if err := body.read(args, ofKey); err != nil {
				return err
			}
			return request(c, a, http.MethodPost, "/admin/v1/changes/clear", &body, func(w io.Writer, cleared *change) {
				fmt.Fprintf(w, "cleared: %s\n", cleared.text())
			})
		},
	}
	operator.addTo(c)
	return c
}

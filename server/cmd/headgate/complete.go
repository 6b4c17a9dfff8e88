package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/topkeys"
)

// completionTimeout bounds a completion, because the shell waits for it.
const completionTimeout = time.Second

// flagWords lists, for each flag that accepts only certain words, the accepted words.
var flagWords = map[string][]string{
	"by": topkeys.Words[:], "window": {"1m", "1h"}, "envoy-semantics": {"envoy", "improved"},
	"failure": policy.FailureNames(), "log-format": {"text", "json"},
	"log-level": {"debug", "info", "warn", "error"}, "output": {"text", "json"},
	"unmatched": {"pass", "deny"}, "distribution": {"uniform", "zipf"},
}

// unknownWord returns the error for a flag's value that is not one of the accepted words.
func unknownWord(flag, value string) error {
	words := flagWords[flag]
	return fmt.Errorf("--%s %s: accepted: %s%s", flag, strconv.Quote(value), strings.Join(words, ", "), yamlfile.DidYouMean(value, words))
}

// completesFlags makes the shell complete the values of a command's flags: with the words in flagWords, and for
// --policy with the policies of a running server.
func completesFlags(c *cobra.Command) {
	complete := func(flag string, words cobra.CompletionFunc) {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, words) // fails only for an unknown flag
		}
	}
	for flag, words := range flagWords {
		complete(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("policy", func(c *cobra.Command, _ []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return serverNames(c, "POLICY", nil, start), cobra.ShellCompDirectiveNoFileComp
	})
}

// completes makes the shell complete the arguments of a command whose usage has POLICY or KEY with the policies and
// keys of a running server. For other commands the shell completes file names.
func completes(c *cobra.Command) {
	words := strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(c.Use))[1:]
	for _, word := range words {
		if word != "POLICY" && word != "KEY" {
			continue
		}
		c.ValidArgsFunction = func(c *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) < len(words) {
				return serverNames(c, words[len(args)], args, start), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return
	}
}

// serverNames returns the policies of a running server that begin with start or, if word is KEY, the keys with the most
// requests in the last hour. It returns nil if the server does not answer within completionTimeout.
func serverNames(c *cobra.Command, word string, args []string, start string) (names []string) {
	var a adminClient
	a.addTo(&cobra.Command{})
	a.timeout = completionTimeout
	for _, name := range []string{"admin", "ca", "cert", "key", "token-file"} {
		if given := c.Flags().Lookup(name); given != nil && given.Changed && c.Flags().Lookup("admin") != nil {
			_ = a.flags.Set(name, given.Value.String()) // the same value of the same flag
		}
	}
	add := func(name string) {
		if strings.HasPrefix(name, start) && printable(name) == name {
			names = append(names, name)
		}
	}
	switch word {
	case "POLICY":
		if answer, _, err := send(c.Context(), &a, adminapi.ListPolicies, nil); err == nil {
			for i := range answer.Policies {
				add(answer.Policies[i].Name)
			}
		}
	case "KEY":
		query := url.Values{"window": {"1h"}, "n": {"100"}}
		if len(args) > 0 {
			query.Set("policy", args[0])
		}
		if answer, _, err := send(c.Context(), &a, adminapi.ListTop.With(query), nil); err == nil {
			for i := range answer.Keys {
				if k := &answer.Keys[i]; k.KeyBase64 == "" {
					add(k.Key)
				}
			}
		}
	}
	return names
}

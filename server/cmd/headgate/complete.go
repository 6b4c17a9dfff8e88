package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/yamlfile"
	"github.com/headgate/headgate/server/internal/topkeys"
)

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
	return fmt.Errorf("--%s %s: %saccepted: %s", flag, strconv.Quote(value), yamlfile.DidYouMean(value, words), strings.Join(words, ", "))
}

// completesFlags makes the shell complete the values of a command's flags with the words in flagWords.
func completesFlags(c *cobra.Command) {
	for flag, words := range flagWords {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails only for an unknown flag
		}
	}
}

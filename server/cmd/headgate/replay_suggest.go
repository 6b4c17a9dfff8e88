package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/report"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// suggestFlags holds the flags of replay --suggest.
type suggestFlags struct {
	suggest                      bool
	key, path, writeConfig, deny string
	proxies                      []string
}

func (s *suggestFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&s.suggest, "suggest", false, "suggest a limit for the keys in the log")
	flags.StringVar(&s.key, "key", "client_ip", "the `key` to limit, as in a route: client_ip, {header: X-User}, [client_ip, {path: id}]")
	flags.StringVar(&s.path, "path", "", "the `pattern` of the paths to limit, such as /v1/users/{id}/**")
	flags.StringSliceVar(&s.proxies, "trusted-proxies", nil, "comma-separated `addresses` or networks of proxies, whose X-Forwarded-For is read (default the server's own machine)")
	flags.StringVar(&s.writeConfig, "write-config", "", "write the limit to this `FILE` as a policies file")
	flags.StringVar(&s.deny, "deny", "0.1%", "deny at most this `share` of the keys that do not stand out")
}

// check rejects invalid flags, and flags that have no effect because --suggest is not set.
func (s *suggestFlags) check(c *cobra.Command) error {
	if s.suggest {
		if c.Flags().Changed("write-config") && s.writeConfig == "" {
			return errors.New("--write-config \"\": accepted: a file; leave the flag out for none")
		}
		return nil
	}
	for _, name := range []string{"key", "path", "trusted-proxies", "write-config", "deny"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: accepted: only with --suggest", name)
		}
	}
	return nil
}

// readShare parses a share, such as 0.1% or 0.001, and returns it as a number from 0 to 1.
func readShare(flag, text string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("%s %q: accepted: a share such as 0.1%% or 0.001", flag, text)
	}
	return share, nil
}

// suggestLimit returns a function that suggests a limit for logs with the given names.
func (f *replayFlags) suggestLimit(logs []string) (replayed, error) {
	s := &f.suggest
	deny, err := readShare("--deny", s.deny)
	options := suggest.Options{Key: s.key, Path: s.path, Proxies: s.proxies, Deny: deny, MaxKeys: f.maxKeys, Listed: f.top}
	return func(ctx context.Context, log *accesslog.Log) (*report.Result, error) {
		result, err := suggest.Run(ctx, log, options)
		if err != nil || s.writeConfig == "" {
			return &report.Result{Suggest: result}, err
		}
		config := result.PoliciesFile(&options, strings.Join(logs, ", "))
		// Other users may read the file: it contains data from a log, but no secrets of this program.
		err = os.WriteFile(s.writeConfig, []byte(config), 0o644) //nolint:gosec // see above
		return &report.Result{Suggest: result}, err
	}, err
}

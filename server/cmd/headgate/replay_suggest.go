package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/replay/report"
	"github.com/headgate/headgate/server/internal/replay/suggest"
)

// suggestFlags holds the flags of replay --suggest.
type suggestFlags struct {
	suggest                bool
	key, path, writeConfig string
	deny, capacity, share  string
	maxSecond              int64
}

func (s *suggestFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&s.suggest, "suggest", false, "suggest limits for the keys in the log")
	flags.StringVar(&s.key, "key", "client_ip", "the `key` to limit, as in a route: client_ip, {header: X-User}, [client_ip, {path: id}]")
	flags.StringVar(&s.path, "path", "", "the `pattern` of the paths to limit, such as /v1/users/{id}/**")
	flags.StringVar(&s.writeConfig, "write-config", "", "write the limits to this `FILE` as a policies file")
	flags.StringVar(&s.deny, "deny", "0.1%", "deny at most this `share` of the keys that do not stand out")
	flags.Int64Var(&s.maxSecond, "max-second", 0, "allow at most `N` requests in any second, all keys together")
	flags.StringVar(&s.capacity, "capacity", "", "the capacity of the service, such as 2000/s; with --share")
	flags.StringVar(&s.share, "share", "1%", "the maximum `share` of the capacity for one key")
}

// check rejects invalid flags, and flags that have no effect because --suggest is not set.
func (s *suggestFlags) check(c *cobra.Command) error {
	if s.suggest {
		if c.Flags().Changed("write-config") && s.writeConfig == "" {
			return errors.New("--write-config \"\": accepted: a file; leave the flag out for none")
		}
		if c.Flags().Changed("share") && s.capacity == "" {
			return errors.New("--share: accepted: only with --capacity, of which it is a share")
		}
		return nil
	}
	for _, name := range []string{"key", "path", "write-config", "deny", "max-second", "capacity", "share"} {
		if c.Flags().Changed(name) {
			return fmt.Errorf("--%s: accepted: only with --suggest", name)
		}
	}
	return nil
}

// options parses the flags.
func (s *suggestFlags) options(zone *time.Location, listed int) (o suggest.Options, err error) {
	o = suggest.Options{Key: s.key, Path: s.path, Total: s.maxSecond, Listed: listed, Zone: zone}
	if o.Deny, err = readShare("--deny", s.deny); err != nil {
		return o, err
	}
	if o.Total < 0 {
		return o, fmt.Errorf("--max-second %d: accepted: 1 or more, or 0 for no bound", o.Total)
	}
	if s.capacity == "" {
		return o, nil
	}
	limit, err := engine.ParseLimit(s.capacity)
	if err != nil || len(limit.Rates()) != 1 || limit.Rate(0).Period <= 0 {
		return o, fmt.Errorf("--capacity %q: accepted: a rate such as 2000/s", s.capacity)
	}
	o.Capacity = limit.Rate(0)
	if o.Share, err = readShare("--share", s.share); err == nil && o.Share == 0 {
		err = fmt.Errorf("--share %q: accepted: more than 0, such as 1%%", s.share)
	}
	return o, err
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

func (f *replayFlags) suggestLimits(ctx context.Context, c *cobra.Command, logs []string) error {
	zone, err := f.location()
	if err != nil {
		return err
	}
	options, err := f.suggest.options(zone, f.top)
	if err != nil {
		return err
	}
	options.MaxKeys = f.maxKeys
	log, err := f.open(c, logs)
	if err != nil {
		return err
	}
	defer log.Close()
	end := f.progress(c, log)
	result, err := suggest.Run(ctx, log, options)
	end()
	if err != nil {
		return err
	}
	config := result.PoliciesFile(&options, strings.Join(logs, ", "))
	if f.suggest.writeConfig != "" {
		if err := writeFile(f.suggest.writeConfig, []byte(config)); err != nil {
			return err
		}
	}
	return f.show(c, log, &report.Page{Title: "Limits for " + strings.Join(logs, ", "), Suggest: result, Config: config})
}

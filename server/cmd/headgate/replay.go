package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
	"github.com/headgate/headgate/server/internal/replay/report"
	"github.com/headgate/headgate/server/internal/replay/simulate"
)

// replayFlags holds the flags of the command replay.
type replayFlags struct {
	config, compare string
	output          outputFlag
	log             accesslog.Options
	top, maxKeys    int
	suggest         suggestFlags
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay (--config FILE | --suggest --key KEY | --compare OLD NEW) LOG...",
		Short: "Decide the requests of an access log, and find a limit for them",
		Long: `Decide the requests of an access log as a server would have, at the times in the log, or
find a limit for them. Nothing is sent and no store is used.

  replay --config policies.yaml access.log       what the file would have denied
  replay --suggest --key client_ip access.log    a limit that fits the log
  replay --compare old.yaml new.yaml access.log  which answers change

A LOG is a file, plain or compressed by gzip, or - for standard input. Several are merged by time. The format is found in the first lines; --format names it.

Exit status: 0 done, 2 invalid.`,
		RunE: f.run,
	}
	flags := c.Flags()
	flags.StringVar(&f.config, "config", "", "decide by the routes in this `FILE`")
	flags.StringVar(&f.compare, "compare", "", "compare the answers of this `FILE` with the answers of the next file")
	flags.StringVar(&f.log.Format, "format", "", "the `format` of the log: "+accesslog.FormatAccepted)
	flags.StringVar(&f.log.Host, "host", "", "the host of all requests, for logs without one")
	flags.IntVar(&f.top, "top", 10, "number of keys to list")
	flags.IntVar(&f.maxKeys, "max-keys", simulate.DefaultMaxKeys, "maximum number of states in the store, and of keys counted separately")
	f.output.addTo(flags)
	f.suggest.define(c)
	return c
}

// replayMemory is the soft memory limit of the Go runtime, in bytes, unless GOMEMLIMIT sets another.
const replayMemory = 800 << 20

func (f *replayFlags) run(c *cobra.Command, args []string) error {
	if err := cmp.Or(f.check(args), f.suggest.check(c)); err != nil {
		return err
	}
	if debug.SetMemoryLimit(-1) > 1<<40 { // if GOMEMLIMIT is not set
		debug.SetMemoryLimit(replayMemory)
		debug.SetGCPercent(300) // live memory grows slowly, and the limit above bounds it
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := f.replay(ctx, c, args)
	if errors.Is(err, context.Canceled) {
		return errors.New("replay: interrupted")
	}
	return err
}

// replay opens the logs, and prints the result of the requested kind.
func (f *replayFlags) replay(ctx context.Context, c *cobra.Command, args []string) error {
	run, logs, err := f.kind(c, args)
	if err != nil {
		return err
	}
	log, err := accesslog.Open(logs, c.InOrStdin(), f.log)
	if err != nil {
		return err
	}
	defer log.Close()
	r, err := run(ctx, log)
	if err != nil {
		return err
	}
	r.Log = &report.Log{Formats: log.Formats(), Stats: log.Stats()}
	if f.output.json() {
		return writeJSON(c.OutOrStdout(), r)
	}
	report.Text(c.OutOrStdout(), r)
	return nil
}

// replayed replays a log in one of the three ways.
type replayed func(ctx context.Context, log *accesslog.Log) (*report.Result, error)

// kind returns the function that replays logs in the requested way, and the names of the logs.
func (f *replayFlags) kind(c *cobra.Command, args []string) (run replayed, logs []string, err error) {
	switch {
	case f.suggest.suggest:
		run, err = f.suggestLimit(args)
		return run, args, err
	case f.config != "":
		config, err := f.simulation(c, f.config)
		return func(ctx context.Context, log *accesslog.Log) (*report.Result, error) {
			result, err := simulate.Run(ctx, log, config)
			return &report.Result{Result: result}, err
		}, args, err
	}
	before, err := f.simulation(c, f.compare)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.simulation(c, args[0])
	return func(ctx context.Context, log *accesslog.Log) (*report.Result, error) {
		result, err := simulate.Compare(ctx, log, before, after)
		return &report.Result{Comparison: result}, err
	}, args[1:], err
}

// check checks the flags that can be checked without reading a file.
func (f *replayFlags) check(args []string) error {
	given := 0
	for _, set := range []bool{f.config != "", f.suggest.suggest, f.compare != ""} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("replay: accepted: exactly one of --config FILE, --suggest --key KEY, and --compare OLD NEW")
	case f.compare != "" && len(args) < 2:
		return errors.New("replay: NEW or LOG missing; usage: headgate replay --compare OLD NEW LOG")
	case f.maxKeys < 1 || f.top < 0:
		return fmt.Errorf("--max-keys %d, --top %d: accepted: at least 1 and 0", f.maxKeys, f.top)
	case len(args) == 0:
		return errors.New("replay: LOG missing; accepted: one or more files, or - for standard input")
	}
	return nil
}

// simulation reads a policies file and returns the configuration of its replay. A file without routes is an error.
func (f *replayFlags) simulation(c *cobra.Command, path string) (config simulate.Config, err error) {
	config = simulate.Config{File: path, MaxKeys: f.maxKeys, Top: f.top}
	if config.Policies, err = (policy.Reader{Gateway: true}).Reload(path, nil); err != nil {
		return config, printErrors(c.ErrOrStderr(), err)
	}
	if len(config.Policies.Routes.Routes()) == 0 {
		return config, fmt.Errorf("%s has no routes, so no request of a log has a limit; write routes, such as\n  routes: [{key: [{client_ip: {}}], policies: [NAME]}]", path)
	}
	return config, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/load"
)

type benchFlags struct {
	target, limit, distribution string
	config                      load.Config
	output                      outputFlag
	// Thresholds. Each applies only if its flag is set.
	maxP50, maxP99, maxP999 time.Duration
	maxErrors, maxOver      int64
	minRate                 float64
}

func newBench() *cobra.Command {
	var f benchFlags
	c := &cobra.Command{
		Use: "bench", Short: "Measure the latency and accuracy of many decisions", Args: exactly(),
		Long: `Measure the latency and accuracy of many decisions.

The target is a server (resp://host:port, http://host:port), or the URL of a store that this process
then uses itself. Keys are new in every run. With --rate, requests are due at fixed instants and
latency counts from these, so that a target that stalls does not look fast. Accuracy compares the
decisions with those of the exact arithmetic for the same requests.

Exit status: 0 done, 1 a threshold (--max-..., --min-rate) is missed, 2 an error.`,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	flags := c.Flags()
	flags.StringVar(&f.target, "target", "resp://127.0.0.1:6380", "a server (resp://host:port, http://host:port) or the `URL` of a store: memory, redis://, …")
	flags.StringVar(&f.limit, "limit", "100/s burst 100", "the `limit` of every key, in its text form")
	flags.StringVar(&f.config.Policy, "policy", "", "request units of this `policy` of the server; accuracy is compared with --limit, if given")
	flags.IntVar(&f.config.Keys, "keys", 10_000, "number of keys")
	flags.StringVar(&f.distribution, "distribution", "uniform", "uniform, or zipf: few keys get most requests")
	flags.IntVar(&f.config.Callers, "callers", 64, "number of concurrent callers")
	flags.Float64Var(&f.config.Rate, "rate", 0, "requests a second, independent of the latency; 0 sends as fast as answers come")
	flags.DurationVar(&f.config.Duration, "duration", 10*time.Second, "length of the run")
	flags.DurationVar(&f.config.Timeout, "timeout", time.Second, "timeout of one decision")
	flags.DurationVar(&f.maxP50, "max-p50", 0, "exit with 1 if half of the requests take longer")
	flags.DurationVar(&f.maxP99, "max-p99", 0, "exit with 1 if more than 1% of the requests take longer")
	flags.DurationVar(&f.maxP999, "max-p999", 0, "exit with 1 if more than 0.1% of the requests take longer")
	flags.Int64Var(&f.maxErrors, "max-errors", 0, "exit with 1 if more requests have no decision")
	flags.Int64Var(&f.maxOver, "max-over", 0, "exit with 1 if more units are allowed than the limit allows")
	flags.Float64Var(&f.minRate, "min-rate", 0, "exit with 1 if there are fewer decisions a second")
	f.output.addTo(flags)
	return c
}

func (f *benchFlags) run(c *cobra.Command) error {
	if f.config.Policy == "" || c.Flags().Changed("limit") {
		limit, err := engine.ParseLimit(f.limit)
		if err != nil {
			return fmt.Errorf("--limit: %w", err)
		}
		f.config.Limit = limit
	}
	switch f.distribution {
	case "uniform":
	case "zipf":
		f.config.Zipf = true
	default:
		return unknownWord("distribution", f.distribution)
	}
	if c.Flags().Changed("max-over") && f.config.Limit == (engine.Limit{}) {
		return errors.New("--max-over is set; it is accepted only together with --limit, the limit of the policy")
	}
	if err := f.config.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	target, err := load.Open(ctx, f.target)
	if err != nil {
		return err
	}
	before := load.Progress{}
	r, err := load.Run(ctx, target, f.config, func(since time.Duration, now load.Progress) {
		fmt.Fprintf(c.ErrOrStderr(), "%4.0fs  %d allowed, %d denied, %d failed in the last second\n", since.Seconds(),
			now.Allowed-before.Allowed, now.Denied-before.Denied, now.Failed-before.Failed)
		before = now
	})
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	missed := f.missed(c, r)
	if f.output.json() {
		if err := writeJSON(c.OutOrStdout(), reportOf(r, missed)); err != nil {
			return err
		}
	} else {
		show(c.OutOrStdout(), r)
		for _, m := range missed {
			fmt.Fprintf(c.OutOrStdout(), "missed      --%s %s: %s\n", m.Flag, m.Value, m.Got)
		}
	}
	if len(missed) > 0 {
		return exitDenied
	}
	return nil
}

func (f *benchFlags) missed(c *cobra.Command, r *load.Report) (all []benchThreshold) {
	rate := float64(r.Decisions()) / r.Took.Seconds()
	for _, t := range []struct {
		flag   string
		missed bool
		got    string
	}{
		{"max-p50", latency(r, 50) > f.maxP50, latency(r, 50).String()},
		{"max-p99", latency(r, 99) > f.maxP99, latency(r, 99).String()},
		{"max-p999", latency(r, 99.9) > f.maxP999, latency(r, 99.9).String()},
		{"max-errors", r.Failed > f.maxErrors, strconv.FormatInt(r.Failed, 10)},
		{"max-over", r.Accuracy.Over > f.maxOver, strconv.FormatInt(r.Accuracy.Over, 10)},
		{"min-rate", rate < f.minRate, strconv.FormatFloat(rate, 'f', 0, 64)},
	} {
		if flag := c.Flags().Lookup(t.flag); flag.Changed && t.missed {
			all = append(all, benchThreshold{t.flag, flag.Value.String(), t.got})
		}
	}
	return all
}

func show(w io.Writer, r *load.Report) {
	fmt.Fprintf(w, "decisions   %d in %.1fs: %.0f/s\n", r.Decisions(), r.Took.Seconds(), float64(r.Decisions())/r.Took.Seconds())
	fmt.Fprintf(w, "            %d allowed, %d denied, %d failed\n", r.Allowed, r.Denied, r.Failed)
	if r.Error != nil {
		fmt.Fprintf(w, "            one failed with: %v\n", r.Error)
	}
	fmt.Fprintf(w, "latency    ")
	for _, q := range quantiles {
		fmt.Fprintf(w, " p%g %v", q, latency(r, q))
	}
	fmt.Fprintln(w)
	printHistogram(w, r)
	showAccuracy(w, r)
}

func showAccuracy(w io.Writer, r *load.Report) {
	a := r.Accuracy
	if !a.Known {
		fmt.Fprintln(w, "accuracy    not compared: --limit says what the policy should allow")
		return
	}
	fmt.Fprintf(w, "accuracy    %d allowed, %d by the exact steps: %d over, %d under\n", a.Allowed, a.Exact, a.Over, a.Under)
	if !a.StoreTime {
		fmt.Fprintln(w, "            by this machine's clock: what a limit admits within a round trip is uncertain")
	}
	if a.Skipped > 0 {
		fmt.Fprintf(w, "            %d decisions were not compared: more than are remembered\n", a.Skipped)
	}
	if r.Failed > 0 {
		fmt.Fprintln(w, "            decisions that failed may have been charged all the same")
	}
}

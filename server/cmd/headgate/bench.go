package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
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

Exit status: 0 done, 2 an error.`,
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
	if err := f.config.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	target, err := load.Open(ctx, f.target)
	if err != nil {
		return err
	}
	r, err := load.Run(ctx, target, f.config)
	if err := errors.Join(err, target.Close()); err != nil {
		return err
	}
	if f.output.json() {
		return writeJSON(c.OutOrStdout(), reportOf(r))
	}
	show(c.OutOrStdout(), r)
	return nil
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

// benchReport is the result of bench, as printed with --output json. Durations are in milliseconds.
type benchReport struct {
	Decisions int64           `json:"decisions"`
	Seconds   float64         `json:"seconds"`
	PerSecond float64         `json:"per_second"`
	Allowed   int64           `json:"allowed"`
	Denied    int64           `json:"denied"`
	Errors    int64           `json:"errors"`
	Error     string          `json:"error,omitempty"` // one of the errors that occurred
	Latency   []benchQuantile `json:"latency_ms"`
	Accuracy  *load.Accuracy  `json:"accuracy,omitempty"` // omitted if there was no limit to compare with
}

type benchQuantile struct {
	Percent float64 `json:"percent"`
	Most    float64 `json:"most"`
}

// latency returns the latency that percent of the requests did not exceed.
func latency(r *load.Report, percent float64) time.Duration {
	return time.Duration(r.Latency.ValueAtQuantile(percent)) * time.Microsecond
}

func reportOf(r *load.Report) *benchReport {
	out := &benchReport{
		Decisions: r.Decisions(), Seconds: r.Took.Seconds(), PerSecond: float64(r.Decisions()) / r.Took.Seconds(),
		Allowed: r.Allowed, Denied: r.Denied, Errors: r.Failed,
	}
	if r.Error != nil {
		out.Error = r.Error.Error()
	}
	for _, q := range quantiles {
		out.Latency = append(out.Latency, benchQuantile{q, float64(latency(r, q).Microseconds()) / 1000})
	}
	if r.Accuracy.Known {
		out.Accuracy = &r.Accuracy
	}
	return out
}

var quantiles = []float64{50, 90, 99, 99.9, 99.99, 100}

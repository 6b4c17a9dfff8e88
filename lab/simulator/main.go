// Command simulator simulates gates under load and prints their goodput, latency and known faults. See
// docs/design/simulator.md.
//
//	cd lab && go run ./simulator
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headgate/headgate/lab/simulator/scenario"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "simulator:", err)
		os.Exit(1)
	}
}

// run runs the simulations that the arguments select, and writes the tables to out.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("simulator", flag.ContinueOnError)
	full := flags.Bool("full", false, "20 seeds, and a finer search for the best fixed limit")
	seeds := flags.Int("seeds", 0, "runs of each gate in each scenario; 0 is 3, or 20 with -full")
	only := flags.String("only", "", "run this scenario alone")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := scenario.Options{Seeds: *seeds, Each: parallel}
	switch {
	case *full:
		o.Limits, o.Refine, o.Seeds = scenario.Fine, true, max(o.Seeds, 20)
	case o.Seeds == 0:
		o.Seeds = 3
	}
	scenarios := scenario.All()
	if *only != "" {
		s, ok := scenario.Named(*only)
		if !ok {
			return fmt.Errorf("no scenario is named %q", *only)
		}
		scenarios = []scenario.Scenario{s}
	}
	began := time.Now()
	var results []*scenario.Result
	for i := range scenarios {
		r, err := scenarios[i].Run(o)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	if err := markdown(out, newReport(o.Seeds, results)); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d scenarios with %d seeds in %s.\n", len(results), o.Seeds, time.Since(began).Round(time.Second))
	return nil
}

// parallel calls f for 0 to n−1 on all CPUs. The calls must not share state.
func parallel(n int, f func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}

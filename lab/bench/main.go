package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"time"

	"github.com/google/pprof/profile"
)

// settings holds the lengths and sizes of all measurements.
type settings struct {
	name   string
	rounds int
	lasts  time.Duration
	full   bool // also with 10^7 keys
	// profiles collects the profiles of the rows. It can be nil.
	profiles *profiles
}

var lengths = map[string]settings{
	"quick": {name: "bench-quick", rounds: 3, lasts: 100 * time.Millisecond},
	"usual": {name: "bench", rounds: 20, lasts: 300 * time.Millisecond},
	"full":  {name: "bench-full", rounds: 10, lasts: 4 * time.Second, full: true},
}

// groups are the measurements, in order.
var groups = []struct {
	name    string
	measure func(context.Context, settings) ([]table, error)
}{{"memory", memory}, {"http", middleware}, {"redis", onOneRedis}, {"parts", parts}, {"waiting", waiting}, {"lists", lists}, {"cluster", onCluster}, {"articles", articles}, {"resp", respServers}, {"grpc", grpcServers}, {"gateway", gateways}, {"failure", failureLayer}}

func main() {
	length := flag.String("length", "usual", "quick (two minutes), usual (thirty) or full")
	only := flag.String("only", "", "measure the groups that match: memory, http, redis, parts, waiting, lists, cluster, articles, resp, grpc, gateway, failure")
	out := flag.String("out", "", "write the tables to this `file`")
	profiled := flag.String("profile", "", "leave a CPU profile of each of our rows in this `directory`; the numbers are worth less then")
	empty := flag.Bool("empty-grpc", false, "be the empty gRPC server that the group grpc starts")
	answers := flag.String("http", "", "be the server of HTTP that the group gateway starts: `JSON` with its answer, or with the upstream of a reverse proxy")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if *empty {
		serveEmpty(ctx)
		return
	}
	if *answers != "" {
		if err := serveHTTP(ctx, *answers); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	err := run(ctx, *length, *only, *out, *profiled)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, length, only, out, profiled string) error {
	s, ok := lengths[length]
	if !ok {
		return fmt.Errorf("-length %q: accepted: quick, usual, full", length)
	}
	if profiled != "" {
		s.profiles = &profiles{dir: profiled, found: map[string]*profile.Profile{}}
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	loaded := loadAverages()
	fmt.Fprintf(os.Stdout, "%d cores, load average %s\n\n", runtime.NumCPU(), loaded)
	var tables []table
	for _, g := range groups {
		if !wanted.MatchString(g.name) {
			continue
		}
		measured, err := g.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		for i := range measured {
			measured[i].write(os.Stdout)
		}
		tables = append(tables, measured...)
	}
	if err := s.profiles.write(os.Stdout); err != nil || out == "" {
		return err
	}
	return report(out, s, loaded, tables)
}

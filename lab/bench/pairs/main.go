package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	row := flag.String("row", "", "measure this `row` once, in this process")
	before := flag.String("before", "", "the `program` of the earlier build")
	redis := flag.String("redis", "", "the `socket` of a Redis, for rows that need one")
	only := flag.String("only", "", "the rows that match")
	lasts := flag.Duration("for", 250*time.Millisecond, "how long one measurement takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *row != "" {
		err = measure(ctx, *row, *redis, *lasts)
	} else {
		err = compare(ctx, pairing{before: *before, redis: *redis, lasts: *lasts}, *only)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pairs: "+err.Error())
		os.Exit(1)
	}
}

// compare measures the rows and prints a line for each. It returns an error if a row is slower or allocates more.
func compare(ctx context.Context, p pairing, only string) error {
	if p.before == "" {
		return errors.New("-before is not set: tools/scripts/bench-pairs COMMIT builds both programs and sets it")
	}
	wanted, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if p.now, err = os.Executable(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "| row | CPU ns before | now | before ÷ now (middle half) | allocations | pairs | |")
	fmt.Fprintln(os.Stdout, "|---|---|---|---|---|---|---|")
	failed := 0
	for _, r := range rows {
		if !wanted.MatchString(r.name) || r.redis && p.redis == "" {
			continue
		}
		f, err := p.row(ctx, r.name)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		fmt.Fprintln(os.Stdout, f.line(r.name))
		if f.verdict() == slower {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d rows are slower or allocate more", failed)
	}
	return nil
}

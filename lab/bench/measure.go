package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// contender is a limiter under one kind of load.
type contender struct {
	name string
	ours bool
	// ask requests one decision for a key, and returns the error if there was no decision.
	ask func(key string) error
	// askMany, if set, replaces ask. It requests one decision for each key, in a single call.
	askMany func(keys []string) error
	// rate, if set, replaces ask. It generates load by other means for the given time, and returns the number of keys
	// decided per second.
	rate func(lasts time.Duration) (float64, error)
	// store, if set, is a client of the contender's own server. The time of the server's scripts is measured with it.
	// process is the server's process, whose use is measured too.
	store   *redis.Client
	process int
	// done closes the contender.
	done func()
}

// watched returns the contender with its own server, so that what the server spends is measured.
func watched(c contender, of *server) contender {
	client, done := redis.NewClient(&redis.Options{Addr: of.address}), c.done
	c.process = of.command.Process.Pid
	c.store, c.done = client, func() {
		if done != nil {
			done()
		}
		_ = client.Close()
	}
	return c
}

func finish(contenders []contender) {
	for _, c := range contenders {
		if c.done != nil {
			c.done()
		}
	}
}

// load configures the requests in one row of a table: their keys, callers and rate.
type load struct {
	row     string // the name in the profiles
	callers int
	keys    []string
	// zipf makes a few keys more frequent than others. At least a tenth of all requests are for the most frequent key.
	zipf bool
	// perSecond is the rate of requests, regardless of how long the responses take. 0 means as fast as possible.
	perSecond float64
	// timed makes callers measure the latency of each decision, even if no rate is set.
	timed bool
}

// sample is the result for one contender in one round.
type sample struct {
	perSecond float64
	p50, p99  time.Duration // if there was a rate, or only one caller
	p9999     time.Duration
	longest   time.Duration
	mallocs   float64 // per decision
	writes    float64 // write calls by this process, per decision
	cpu       float64 // CPU time of this process, in ns per decision
	wakes     float64 // wake-ups of this process, per decision
	server    used    // by the process of the contender's server, in the whole round
	store     float64 // time of the server's scripts, in µs per decision, if the contender has a store
	asked     int64
	failed    int64
}

// measured sends requests for random keys from all callers for the given time, and returns the result.
func measured(c contender, l load, lasts time.Duration) sample {
	var asked, failed atomic.Int64
	var wg sync.WaitGroup
	timed := l.perSecond > 0 || l.callers == 1 || l.timed
	took := make([][]time.Duration, l.callers)
	picks := l.picks()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	writes, own := systemWrites(), ownUse()
	start := time.Now()
	for n := range l.callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
			caller := caller{contender: c, load: l, start: start, stop: start.Add(lasts), random: random, picks: picks}
			if l.zipf {
				caller.picked = random.IntN(len(picks))
			}
			if timed {
				caller.timed(n)
			} else {
				caller.flatOut()
			}
			asked.Add(caller.asked)
			failed.Add(caller.failed)
			took[n] = caller.took
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	writes, own = systemWrites()-writes, ownUse().since(own)
	runtime.ReadMemStats(&after)
	s := sample{perSecond: float64(asked.Load()) / seconds, asked: asked.Load(), failed: failed.Load()}
	s.mallocs = float64(after.Mallocs-before.Mallocs) / float64(asked.Load())
	s.writes = float64(writes) / float64(asked.Load())
	s.cpu, s.wakes = float64(own.cpu)/float64(asked.Load()), float64(own.wakes)/float64(asked.Load())
	if all := slices.Concat(took...); len(all) > 0 {
		slices.Sort(all)
		s.p50, s.p99, s.p9999 = all[len(all)/2], all[len(all)*99/100], all[len(all)*9999/10000]
		s.longest = all[len(all)-1]
	}
	return s
}

// interleave runs the contenders in turn, round after round, so that other load on the machine affects all of them. It
// returns each contender's rounds. Failed requests do not count as decisions. More than one failure in a thousand
// requests is an error.
func interleave(contenders []contender, l load, s settings) ([][]sample, error) {
	all := make([][]sample, len(contenders))
	for round := range s.rounds {
		// Collect garbage only once per round, because with a million keys it takes longer than the measurement.
		runtime.GC()
		for i := range contenders {
			at := (i + round) % len(contenders)
			time.Sleep(20 * time.Millisecond)
			one, err := turn(contenders[at], l, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[at].name, err)
			}
			all[at] = append(all[at], one)
		}
	}
	return all, nil
}

// turn runs one round of one contender and returns its result.
func turn(c contender, l load, s settings) (one sample, err error) {
	if c.rate != nil {
		one.perSecond, err = c.rate(s.lasts)
		return one, err
	}
	before, err := scriptTime(c.store)
	if err != nil {
		return one, err
	}
	server := useOf(c.process)
	profiled := s.profiles
	if !c.ours {
		profiled = nil
	}
	if err := profiled.during(l.row, c.name, func() { one = measured(c, l, s.lasts) }); err != nil {
		return one, err
	}
	if one.failed*1000 > one.asked {
		return one, fmt.Errorf("%d of %d failed", one.failed, one.asked)
	}
	one.server = useOf(c.process).since(server)
	after, err := scriptTime(c.store)
	one.store = (after - before) / float64(one.asked)
	return one, err
}

// scriptTime returns the time in µs that a server has spent in EVALSHA, or 0 without a client.
func scriptTime(client *redis.Client) (float64, error) {
	if client == nil {
		return 0, nil
	}
	text, err := client.Info(context.Background(), "commandstats").Result()
	_, after, _ := strings.Cut(text, "cmdstat_evalsha:calls=")
	_, after, _ = strings.Cut(after, "usec=")
	micros, _, found := strings.Cut(after, ",")
	if err != nil || !found {
		return 0, err
	}
	return strconv.ParseFloat(micros, 64)
}

// median calls the function number for each round's sample, and returns the median of the results.
func median(samples []sample, number func(sample) float64) float64 {
	return middle(each(samples, number))
}

// each calls the function number for each round's sample, and returns the results.
func each(samples []sample, number func(sample) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = number(s)
	}
	return values
}

func middle(values []float64) float64 { return quantile(values, 0.5) }

// quantile returns the quantile of the values for a fraction from 0 to 1, such as 0.5 for the median.
func quantile(values []float64, part float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*part))]
}

// compare returns a table's lines, one for each contender. It calls the function number for each of a contender's
// samples, and the line contains the median of the results.
func compare(contenders []contender, samples [][]sample, number func(sample) float64) (lines []line) {
	for i, c := range contenders {
		if i == len(samples) || len(samples[i]) == 0 {
			break // the error explains why
		}
		rounds := each(samples[i], number)
		lines = append(lines, line{
			name: c.name, ours: c.ours, value: middle(rounds), rounds: rounds,
			cpu: median(samples[i], cpuOf), store: median(samples[i], storeOf),
		})
	}
	return lines
}

func nanoseconds(s sample) float64 { return 1e9 / s.perSecond }
func perSecondOf(s sample) float64 { return s.perSecond }
func cpuOf(s sample) float64       { return s.cpu }
func storeOf(s sample) float64     { return s.store }

// beside alternates between measurements with and without something, and returns a table of the medians, whose first
// line the caller names. The table's note contains the ratio for each pair of measurements.
func beside(s settings, measure func(on bool) (float64, error)) (table, error) {
	var rates [2][]float64
	for round := range 2*s.rounds + 1 {
		for i := range 2 {
			on := (i+round)%2 == 1
			rate, err := measure(on)
			if err != nil {
				return table{}, err
			}
			at := 0
			if on {
				at = 1
			}
			rates[at] = append(rates[at], rate)
		}
	}
	ratios := make([]float64, len(rates[0]))
	for i := range ratios {
		ratios[i] = rates[1][i] / rates[0][i]
	}
	slices.Sort(ratios)
	return table{
		lines: []line{{ours: true, value: middle(rates[0]) * middle(ratios)}, {name: "without", value: middle(rates[0])}},
		note:  fmt.Sprintf("The ratio is the median of %d pairs: %.2f to %.2f.", len(ratios), ratios[0], ratios[len(ratios)-1]),
	}, nil
}

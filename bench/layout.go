package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/stack"
)

// staying is a limit that denies no requests in the benchmark. A unit takes 86 s to refill, so that states last.
var staying = rule.TokenBucket(rule.PerDay(1000), rule.Burst(1_000_000))

// layouts compares the layout with one key per state and the layout with hashes, each on its own Redis. It measures
// the decisions per second, the latency of the slowest decisions while keys come and go, and the memory per key.
func layouts(ctx context.Context, s settings) (tables []table, err error) {
	for _, row := range []struct {
		what   string
		keys   int
		hashes int
		limit  engine.Limit
		slow   bool
	}{
		{"100 000 keys whose states last a millisecond", 100_000, 4, crowded, false},
		{"100 000 keys whose states stay", 100_000, 4, staying, false},
		{"1 000 000 keys whose states stay", 1_000_000, 32, staying, false},
		{"1 000 000 keys that come and go: states last a second, so most are new", 1_000_000, 32, rule.TokenBucket(rule.Per(10_000, 10_000*time.Second)), true},
	} {
		servers, err := startPrograms(ctx, redisProgram, 2)
		if err != nil {
			return nil, err
		}
		measured, err := layoutRow(ctx, s, servers, row.hashes, row.limit, load{row: "layout", callers: 512, keys: names(row.keys)}, row.slow)
		stopAll(servers)
		if err != nil {
			return nil, err
		}
		for i := range measured {
			measured[i].title = "Layout hash:" + strconv.Itoa(row.hashes) + ", 512 callers, " + row.what + measured[i].title
		}
		tables = append(tables, measured...)
	}
	return tables, nil
}

// layoutRow compares the two layouts under the same load.
func layoutRow(ctx context.Context, s settings, servers []*server, hashes int, limit engine.Limit, l load, slow bool) ([]table, error) {
	var contenders []contender
	defer func() { finish(contenders) }()
	for i, layout := range []string{fmt.Sprint("hash:", hashes), "keys"} {
		store, err := open(ctx, "redis://"+servers[i].address+"?layout="+layout, stack.Config{})
		if err != nil {
			return nil, err
		}
		contenders = append(contenders, watched(asked(context.WithoutCancel(ctx), layout, store, limit), servers[i].address))
		contenders[i].ours = i == 0
	}
	for _, c := range contenders { // every key has been used
		if _, err := turn(c, l, settings{lasts: time.Duration(len(l.keys)) * 15 * time.Microsecond}); err != nil {
			return nil, err
		}
	}
	samples, err := interleave(contenders, l, s)
	if err != nil {
		return nil, err
	}
	beside := []string{"keys"}
	tables := []table{{unit: "decisions/s", reach: 1.6, beside: beside, lines: compare(contenders, samples, perSecondOf), costs: true}}
	if !slow {
		return tables, nil
	}
	rates := tables[0].lines
	tables[0].reach = 0
	l.perSecond, l.timed = min(rates[0].value, rates[1].value)/2, true
	if samples, err = interleave(contenders, l, s); err != nil {
		return nil, err
	}
	return append(tables,
		table{title: ", at half of that rate, 99.99 % of the decisions", unit: "µs", lower: true, reach: 1.2, beside: beside, lines: compare(contenders, samples, func(s sample) float64 { return micros(s.p9999) })},
		table{title: ", at half of that rate, the slowest decision", unit: "µs", lower: true, reach: 2, beside: beside, lines: compare(contenders, samples, func(s sample) float64 { return micros(s.longest) })}), nil
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

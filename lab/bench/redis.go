package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/stack"
	openstore "github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// perSecond is the limit on Redis, in units per second. In rows with many keys, most requests pass, as in real use. In
// rows with one hot key, most are denied.
const perSecond = 1000

// redisRate are the contenders that the rows on one Redis compare with.
var redisRate = []string{pooled, piped}

const (
	alone  = "headgate, a script for each"
	pooled = "redis_rate, its pool"
	piped  = "redis_rate, AutoPipeline"
)

// onOneRedis compares exact limiters on one Redis, and on one Valkey if it is installed.
func onOneRedis(ctx context.Context, s settings) (tables []table, err error) {
	for _, of := range []struct{ name, program string }{{"Redis", redisProgram}, {"Valkey", valkeyProgram}} {
		if _, err := exec.LookPath(of.program); err != nil && of.program == valkeyProgram {
			fmt.Fprintln(os.Stderr, "bench: no rows on Valkey: "+err.Error())
			continue
		}
		more, err := onOneServer(ctx, of.program, s)
		if err != nil {
			return nil, err
		}
		for i := range more {
			more[i].title = strings.ReplaceAll(more[i].title, "Redis", of.name)
		}
		tables = append(tables, more...)
	}
	leased, err := leasedRow(ctx, s)
	return append([]table{leased}, tables...), err
}

// onOneServer compares exact limiters on one kind of server.
func onOneServer(ctx context.Context, program string, s settings) ([]table, error) {
	// Each contender gets its own server, because one contender's expiring keys would slow down the next.
	servers, err := startPrograms(ctx, program, 8)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	// As in a server, a signal does not cancel the callers' context.
	contenders, group, err := onServers(context.WithoutCancel(ctx), servers)
	if err != nil {
		return nil, err
	}
	defer finish(contenders)
	for i := range contenders {
		contenders[i] = watched(contenders[i], servers[i])
	}
	many, hot := names(100_000), names(1)
	rates := func(l load) ([][]sample, []line, error) {
		samples, err := interleave(contenders, l, s)
		return samples, compare(contenders, samples, perSecondOf), err
	}
	ceiling, err := scriptCeiling(ctx, servers[2].address, "scripts of 100 keys by redis-benchmark", "key:__rand_int__")
	if err != nil {
		return nil, err
	}
	named, err := scriptCeiling(ctx, servers[2].address, "the same, with names as long as ours", "hg/api/tb/{key:__rand_int__}")
	if err != nil {
		return nil, err
	}
	before := group.Stats()
	ceilings, everyone := []contender{named, ceiling}, load{row: "redis many", callers: 512, keys: many}
	crowd, err := interleave(slices.Concat(contenders, ceilings), everyone, s)
	if err != nil {
		return nil, err
	}
	crowdLines := compare(contenders, crowd, perSecondOf)
	others := compare(ceilings, crowd[len(contenders):], perSecondOf)
	after := group.Stats()
	reach := 3.2
	if writesMany(ctx, contenders[0].store) {
		reach = 3.5
	}
	apart, err := onOwnCores(ctx, contenders, ceilings, servers, everyone, reach, s)
	if err != nil {
		return nil, err
	}
	_, skewedLines, err := rates(load{row: "redis zipf", callers: 512, keys: many, zipf: true})
	if err != nil {
		return nil, err
	}
	_, hotLines, err := rates(load{row: "redis hot", callers: 512, keys: hot})
	if err != nil {
		return nil, err
	}
	oneCaller, err := alonePerCall(ctx, contenders, servers[6:], s)
	if err != nil {
		return nil, err
	}
	pacedSamples, _, err := rates(load{row: "redis paced", callers: 512, keys: many, perSecond: max(crowdLines[2].value, crowdLines[3].value) / 2})
	if err != nil {
		return nil, err
	}
	perCall := float64(after.Ops-before.Ops) / float64(after.Calls-before.Calls)
	writes := median(crowd[0], func(s sample) float64 { return s.writes * 1000 })
	return slices.Concat([]table{
		{title: "On one Redis, 512 callers, 100 000 keys", unit: "decisions/s", reach: reach, beside: redisRate, lines: crowdLines, costs: true},
		{title: "On one Redis, 512 callers, 100 000 keys" + zipfs, unit: "decisions/s", beside: redisRate, lines: skewedLines, costs: true},
		{title: "On one Redis, 512 callers, one hot key", unit: "decisions/s", beside: redisRate, lines: hotLines},
	}, oneCaller, []table{
		{title: "On one Redis, 512 callers at half of redis_rate's best rate", unit: "p99, µs", lower: true, reach: 0.33, beside: redisRate, lines: compare(contenders, pacedSamples, micros99)},
		{title: "Allocations in the client, 512 callers, 100 000 keys", unit: "a decision", lower: true, reach: 3.0 / 21, beside: redisRate, lines: compare(contenders, crowd, func(s sample) float64 { return s.mallocs })},
		{
			title: "Network writes for 1000 decisions, 512 callers, 100 000 keys", unit: "writes", lower: true, reach: 0.03,
			lines: []line{{name: "headgate", ours: true, value: writes}, {name: "one for each decision", value: 1000}},
			note:  fmt.Sprintf("All that the process wrote to the system; %.0f decisions a call of the store.", perCall),
		},
		{
			title: "On one Redis, beside its own ceiling", unit: "decisions/s", reach: 0.78, beside: []string{named.name}, lines: []line{crowdLines[0], others[0], others[1]},
			note: "redis-benchmark sends a script that gets the time, reads 100 keys, makes a decision for each key in floating point, writes each key, and returns one bit per key.",
		},
	}, apart), nil
}

// bareScript does the minimum that any script that stores a key's state must do.
const bareScript = `local t = redis.call('TIME')
local state = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], t[1] .. t[2], 'PX', 1000)
return state or t[1]`

// alonePerCall compares what a call of a single caller takes. The first server is for the bare script, and the second
// is for a caller with a cancellable context.
func alonePerCall(ctx context.Context, contenders []contender, servers []*server, s settings) ([]table, error) {
	bare := watched(evalsha(ctx, "TIME, GET and SET in a script, by go-redis", servers[0], bareScript), servers[0])
	defer bare.done()
	store, err := openstore.URL(ctx, "redis://"+servers[1].address, openstore.Options{})
	if err != nil {
		return nil, err
	}
	request, cancel := context.WithCancel(ctx)
	defer cancel()
	leaves := watched(asked(request, "headgate by open.URL, a caller that can leave", store, crowded), servers[1])
	defer leaves.done()
	contenders = append(slices.Clone(contenders), leaves, bare)
	samples, err := interleave(contenders, load{row: "redis alone", callers: 1, keys: names(100_000)}, s)
	if err != nil {
		return nil, err
	}
	p50 := compare(contenders, samples, micros50)
	for i := range p50 {
		p50[i].value, p50[i].rounds = quantile(p50[i].rounds, 0.25), nil
	}
	return []table{
		{
			title: "On one Redis, one caller, a quarter of the rounds within", unit: "p50, µs", lower: true, reach: 0.95, beside: redisRate, lines: p50,
			note: "On virtual machines the p50 of rounds has two modes, for every client: this is the better one. A caller that can leave\n" +
				"has the context of a request, which can be cancelled and has no deadline. open.URL gives its calls one of 50 ms. The\n" +
				"last line decides nothing: a round trip, and the commands that no script does without.",
		},
		{title: "On one Redis, one caller, CPU of this process and of Redis", unit: "µs a decision", lower: true, reach: 0.95, beside: redisRate, lines: compare(contenders, samples, bothCPU)},
		{title: "On one Redis, one caller, wake-ups of this process and of Redis", unit: "a decision", lower: true, reach: 1, beside: redisRate, lines: compare(contenders, samples, bothWakes)},
	}, nil
}

func micros50(s sample) float64 { return float64(s.p50) / float64(time.Microsecond) }
func bothCPU(s sample) float64 {
	return s.cpu/1000 + float64(s.server.cpu)/1000/float64(s.asked)
}
func bothWakes(s sample) float64 { return s.wakes + float64(s.server.wakes)/float64(s.asked) }
func micros99(s sample) float64  { return float64(s.p99) / float64(time.Microsecond) }

// onServers creates the limiters: Headgate with its default settings, and without group commit, and
// redis_rate in its two fastest forms.
func onServers(ctx context.Context, servers []*server) (contenders []contender, group *batch.Store, err error) {
	for _, ours := range []struct {
		name   string
		layers stack.Config
	}{{"headgate", stack.Config{}}, {alone, stack.Config{WithoutBatch: true}}} {
		store, err := open(ctx, "redis://"+servers[len(contenders)].address, ours.layers)
		if err != nil {
			return nil, nil, err
		}
		if len(contenders) == 0 {
			group, _ = store.(*batch.Store)
		}
		contenders = append(contenders, asked(ctx, ours.name, store, crowded))
	}
	client := redis.NewClient(&redis.Options{Addr: servers[2].address, PoolSize: 64})
	pipe, err := redis.NewClient(&redis.Options{Addr: servers[3].address}).AutoPipeline()
	if err != nil {
		return nil, nil, err
	}
	contenders = append(contenders,
		rated(ctx, pooled, redis_rate.NewLimiter(client), client.Close), rated(ctx, piped, redis_rate.NewLimiter(pipe), pipe.Close))
	return contenders, group, nil
}

// crowded is the limit for buckets on Redis.
var crowded = rule.TokenBucket(rule.PerSecond(perSecond))

// open opens a Redis store with layers.
func open(ctx context.Context, url string, layers stack.Config) (engine.Store, error) {
	opened, err := rueidisadapter.Open(ctx, url, redisstore.Config{})
	if err != nil {
		return nil, err
	}
	return stack.New(opened, opened, layers)
}

// asked returns a contender that requests one unit of a limit at a time from a Headgate store.
func asked(ctx context.Context, name string, store engine.Store, limit engine.Limit) contender {
	limiter := headgate.New(headgate.WithStore(store))
	policy := limiter.PolicyOf("bench", limit)
	return contender{name: name, ours: true, ask: func(key string) error {
		_, err := policy.Allow(ctx, key)
		return err
	}, done: func() { _ = limiter.Close() }}
}

func rated(ctx context.Context, name string, l *redis_rate.Limiter, done func() error) contender {
	return contender{name: name, ask: func(key string) error {
		_, err := l.Allow(ctx, key, redis_rate.PerSecond(perSecond))
		return err
	}, done: func() { _ = done() }}
}

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/stack"
)

// partsKeys is the number of keys in a call, and partsOf the number of keys to draw from.
const partsKeys, partsOf = 128, 100_000

// ladder lists what a script does, step by step, for each key of a call. Each script does all steps so far. The step
// bareStates is the least that a script does if it keeps a state for each key.
var ladder = []struct{ name, once, each, last string }{
	{"declares its keys", "", "", "return 1"},
	{"reads them: TIME, MGET", "local t = redis.call('TIME') local now, out, v = t[1] * 1000000 + t[2], {}, redis.pcall('MGET', unpack(KEYS))", "local value, ttl = v[i], '86400000'", "return 1"},
	{"writes what it has read", "", "", "return 1"},
	{bareStates, "", "out[i] = v[i]", "return table.concat(out)"},
	{"decodes the state", "local unpack, pack, format = struct.unpack, struct.pack, string.format", "local version, clock, whole, part, rate, period = unpack('>Bi8I7I7I4I7', value)", ""},
	{
		"computes the new state and its TTL", "",
		`local gained = (now - clock) * rate
local rest = gained % period
whole, part = whole - (gained - rest) / period, part - rest
if part < 0 then whole, part = whole - 1, part + period end
if whole < 0 then whole, part = 0, 0 end
whole = whole + 1
local missing = period * whole + part
rest = missing % rate
local needs = (missing - rest) / rate
if rest > 0 then needs = needs + 1 end`, "",
	},
	{"encodes the state", "", "value = pack('>Bi8I7I7I4I7', 2, now, whole, part, rate, period)", ""},
	{"writes its TTL as text", "", "ttl = format('%d', needs / 1000 + 100)", ""},
}

// bareStates is the name of the step that the merged script is compared with.
const bareStates = "answers the states: **the bare script**"

// oneWrite is the bare script for servers that write many keys with one command.
const oneWrite = `local t = redis.call('TIME')
local now, out, v = t[1] * 1000000 + t[2], {}, redis.pcall('MGET', unpack(KEYS))
local list = {}
for i = 1, #KEYS do
  list[2 * i - 1], list[2 * i], out[i] = KEYS[i], v[i], v[i]
end
list[2 * #KEYS + 1], list[2 * #KEYS + 2] = 'PX', '86400000'
redis.pcall('MSETEX', #KEYS, unpack(list))
return table.concat(out)`

// rung returns the script with the ladder's steps 0 to n. The write comes last in the loop, because it needs the results
// of the other steps.
func rung(n int) string {
	var once, each []string
	last, write := "", "redis.pcall('PSETEX', KEYS[i], ttl, value)"
	for _, step := range ladder[:n+1] {
		once, each = append(once, step.once), append(each, step.each)
		if step.last != "" {
			last = step.last
		}
	}
	if n < 2 { // the first two steps write nothing
		write = ""
	}
	return strings.Join(once, "\n") + "\nfor i = 1, #KEYS do\n" + strings.Join(each, "\n") + "\n" + write + "\nend\n" + last
}

// staying is a limit that denies no requests in the benchmark. A unit takes 86 s to refill, so that states last.
var staying = rule.TokenBucket(rule.PerDay(1000), rule.Burst(1_000_000))

// parts shows how long a server works on each key of a merged call, and which part of the script takes how long.
func parts(ctx context.Context, s settings) (tables []table, err error) {
	for _, program := range []string{redisProgram, valkeyProgram} {
		if _, err := exec.LookPath(program); err != nil && program == valkeyProgram {
			continue
		}
		one, err := partsOn(ctx, program, s)
		if err != nil {
			return nil, err
		}
		tables = append(tables, one)
	}
	return tables, nil
}

func partsOn(ctx context.Context, program string, s settings) (t table, err error) {
	server, err := startProgram(ctx, program)
	if err != nil {
		return t, err
	}
	defer server.stop()
	client := redis.NewClient(&redis.Options{Addr: server.address})
	defer func() { _ = client.Close() }()
	if err := fillStates(ctx, client); err != nil {
		return t, err
	}
	var contenders []contender
	defer func() { finish(contenders) }()
	for n := range ladder {
		c, err := scripted(ctx, client, ladder[n].name, rung(n))
		if err != nil {
			return t, err
		}
		contenders = append(contenders, c)
	}
	if writesMany(ctx, client) {
		c, err := scripted(ctx, client, "the bare script with one MSETEX", oneWrite)
		if err != nil {
			return t, err
		}
		contenders = append(contenders, c)
	}
	for _, merged := range []struct {
		name  string
		limit engine.Limit
	}{{"merge.lua, buckets", staying}, {"merge.lua, fixed windows", rule.FixedWindow(rule.PerDay(1_000_000))}} {
		c, err := mergedCalls(ctx, server, merged.name, merged.limit)
		if err != nil {
			return t, err
		}
		c.store = client
		contenders = append(contenders, c)
	}
	samples, err := interleave(contenders, load{row: "parts", callers: 1, keys: names(1)}, s)
	if err != nil {
		return t, err
	}
	return table{
		title: "Time of " + program + " for each key of a merged call", unit: "µs", lower: true, beside: []string{bareStates},
		lines: compare(contenders, samples, func(s sample) float64 { return s.store / partsKeys }),
		note: fmt.Sprintf("%d of %d keys in each call, with names of about 50 bytes and states of 34. Each script does what the one\n"+
			"before does, and one thing more.", partsKeys, partsOf),
	}, nil
}

// stateKey returns the name of a key. It has about as many bytes as the name of a key of a policy.
func stateKey(n int) string {
	return fmt.Sprintf("hg/steps/tb/{%07d}", n)
}

// fillStates gives each key a state.
func fillStates(ctx context.Context, client *redis.Client) error {
	state := make([]byte, 34)
	state[0] = 2                                 // the format
	binary.BigEndian.PutUint64(state[1:], 1<<50) // the time of the state, in the past
	state[26], state[27], state[33] = 1, 1, 1    // its rate and period
	pipe := client.Pipeline()
	for n := range partsOf {
		pipe.Set(ctx, stateKey(n), state, 0)
	}
	_, err := pipe.Exec(ctx)
	return err
}

// scripted calls a script with random keys.
func scripted(ctx context.Context, client *redis.Client, name, script string) (contender, error) {
	sha, err := client.ScriptLoad(ctx, script).Result()
	if err != nil {
		return contender{}, fmt.Errorf("%s: %w", name, err)
	}
	keys := make([]string, partsKeys)
	return contender{name: name, store: client, ask: func(string) error {
		for i := range keys {
			keys[i] = stateKey(rand.IntN(partsOf))
		}
		return client.EvalSha(ctx, sha, keys).Err()
	}}, nil
}

// mergedCalls returns a contender that requests one unit for each key in a call. All keys have a state.
func mergedCalls(ctx context.Context, server *server, name string, limit engine.Limit) (contender, error) {
	store, err := open(ctx, "redis://"+server.address, stack.Config{WithoutBatch: true})
	if err != nil {
		return contender{}, err
	}
	ops, results := make([]engine.Op, partsKeys), make([]engine.Answer, partsKeys)
	ask := func(next func() int) error {
		for i := range ops {
			ops[i] = engine.Op{Space: "policy:bench", Key: fmt.Sprintf("%07d", next()), Charges: []engine.Charge{{Limit: limit, Cost: 1}}}
		}
		store.Do(ctx, ops, results)
		return results[0].Err
	}
	for n := 0; n < partsOf && err == nil; {
		err = ask(func() int { n++; return n - 1 })
	}
	return contender{name: name, ours: true, ask: func(string) error {
		return ask(func() int { return rand.IntN(partsOf) })
	}, done: func() { _ = store.Close() }}, err
}

// writesMany reports whether a server can write many keys with one command.
func writesMany(ctx context.Context, client *redis.Client) bool {
	info, err := client.Do(ctx, "COMMAND", "INFO", "MSETEX").Slice()
	return err == nil && len(info) == 1 && info[0] != nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// bucketScript is a token bucket in its most common form: TIME, GET and SET.
const bucketScript = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
local v, tokens, at = redis.call('GET', KEYS[1]), 16, now
if v then tokens, at = struct.unpack('>dd', v) tokens = math.min(16, tokens + (now - at) * 0.5 / 1000000) end
local ok = tokens >= 1
if ok then tokens = tokens - 1 end
redis.call('SET', KEYS[1], struct.pack('>dd', tokens, now), 'PX', 32000)
return { ok and 0 or 1, 16, math.floor(tokens) }`

// respServers compares servers using the same client: redis-benchmark with 50 connections and 100 000 keys.
func respServers(ctx context.Context, s settings) ([]table, error) {
	direct, err := startRedis(ctx)
	if err != nil {
		return nil, err
	}
	defer direct.stop()
	memory, err := startHeadgate(ctx, "memory", s)
	if err != nil {
		return nil, err
	}
	defer memory.stop()
	over, err := startHeadgate(ctx, "redis://"+direct.address, s)
	if err != nil {
		return nil, err
	}
	defer over.stop()
	client := redis.NewClient(&redis.Options{Addr: direct.address})
	defer func() { _ = client.Close() }()
	sha, err := client.ScriptLoad(ctx, bucketScript).Result()
	if err != nil {
		return nil, err
	}
	throttle := []string{"CL.THROTTLE", "key:__rand_int__", "15", "30", "60"}
	asked := []served{
		{"headgate, in memory", true, memory, throttle},
		{"headgate, on Redis", true, over, throttle},
		{"Redis, INCR", false, direct, []string{"INCR", "n:__rand_int__"}},
		{"Redis, a token-bucket script", false, direct, []string{"EVALSHA", sha, "1", "s:__rand_int__"}},
	}
	var tables []table
	for _, depth := range []int{64, 1} {
		var lines []line
		for _, a := range asked {
			lines = append(lines, line{name: a.name, ours: a.ours})
		}
		rounds := make([][]float64, len(asked))
		for range s.rounds {
			for i, a := range asked {
				rate, err := a.round(ctx, depth, s)
				if err != nil {
					return nil, err
				}
				rounds[i] = append(rounds[i], rate)
			}
		}
		for i := range lines {
			lines[i].value = middle(rounds[i])
		}
		tables = append(tables, respTables(depth, lines)...)
	}
	return tables, nil
}

// served is a server with the command that redis-benchmark sends to it.
type served struct {
	name   string
	ours   bool
	server *server
	words  []string
}

func (a *served) round(ctx context.Context, depth int, s settings) (rate float64, err error) {
	watched := s.profiles
	if !a.ours {
		watched = nil
	}
	failed := watched.during(fmt.Sprintf("resp depth %d", depth), a.name, func() {
		rate, err = benchmark(ctx, a.server.address, depth, s, a.words)
	})
	return rate, errors.Join(failed, err)
}

func respTables(depth int, lines []line) []table {
	reach := map[int]float64{64: 1, 1: 0.6}[depth]
	tables := []table{{
		title: fmt.Sprintf("RESP server, 50 connections, depth %d", depth), unit: "commands/s", reach: reach,
		beside: []string{"Redis, INCR"}, lines: lines,
	}}
	if depth == 1 {
		return tables
	}
	script := []string{"Redis, a token-bucket script"}
	return append(tables,
		table{title: "The same beside the script: in memory", unit: "commands/s", reach: 5, beside: script, lines: []line{lines[0], lines[3]}},
		table{title: "The same beside the script: on that Redis", unit: "commands/s", reach: 1, beside: script, lines: []line{lines[1], lines[3]}})
}

var perSecondSaid = regexp.MustCompile(`([0-9.]+) requests per second`)

// benchmark runs redis-benchmark once.
func benchmark(ctx context.Context, address string, depth int, s settings, words []string) (float64, error) {
	host, port, _ := strings.Cut(address, ":")
	n := int(s.lasts.Seconds() * float64(map[bool]int{true: 400_000, false: 60_000}[depth > 1]))
	args := append([]string{"-h", host, "-p", port, "-c", "50", "-P", strconv.Itoa(depth), "-n", strconv.Itoa(n), "-r", "100000", "-q"}, words...)
	out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	return rateSaid(out)
}

// rateSaid returns the last rate that redis-benchmark printed.
func rateSaid(out []byte) (float64, error) {
	said := perSecondSaid.FindAllStringSubmatch(string(out), -1)
	if len(said) == 0 {
		return 0, errors.New("redis-benchmark says no rate")
	}
	return strconv.ParseFloat(said[len(said)-1][1], 64)
}

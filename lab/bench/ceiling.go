package main

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ceilingScript makes a decision for each of 100 token buckets in the simplest way: in floating point, with one limit
// for all keys, and with one bit per answer.
const ceilingScript = `local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local v, out = redis.call('MGET', unpack(KEYS)), {}
for i = 1, #KEYS do
  local tokens, at = 1000, now
  if v[i] then
    tokens, at = struct.unpack('>dd', v[i])
    tokens = math.min(1000, tokens + (now - at) / 1000)
  end
  local ok = tokens >= 1
  if ok then tokens = tokens - 1 end
  redis.call('SET', KEYS[i], struct.pack('>dd', tokens, now), 'PX', 1000)
  out[i] = ok and 1 or 0
end
return out`

// scriptCeiling returns a contender that measures how many keys per second one Redis can decide in scripts with 100
// keys each, using a client with low overhead.
func scriptCeiling(ctx context.Context, address, name, key string) (contender, error) {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { _ = client.Close() }()
	sha, err := client.ScriptLoad(ctx, ceilingScript).Result()
	if err != nil {
		return contender{}, err
	}
	host, port, _ := strings.Cut(address, ":")
	words := []string{"EVALSHA", sha, "100"}
	for range 100 {
		words = append(words, key)
	}
	return contender{name: name, rate: func(lasts time.Duration) (float64, error) {
		calls := strconv.Itoa(max(100, int(lasts.Seconds()*3000)))
		args := append([]string{"-h", host, "-p", port, "-c", "4", "-n", calls, "-r", "100000", "-q"}, words...)
		out, err := exec.CommandContext(ctx, "redis-benchmark", args...).Output()
		if err != nil {
			return 0, fmt.Errorf("redis-benchmark: %w", err)
		}
		rate, err := rateSaid(out)
		return 100 * rate, err
	}}, nil
}

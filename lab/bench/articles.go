package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/stack"
)

// logScript is the articles' sliding log, which uses a sorted set. The script was corrected so that denied requests do
// not count.
const logScript = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - 1000000)
local n = redis.call('ZCARD', KEYS[1])
if n >= tonumber(ARGV[1]) then return { 1, 0 } end
redis.call('ZADD', KEYS[1], now, now .. ':' .. n)
redis.call('PEXPIRE', KEYS[1], 1000)
return { 0, tonumber(ARGV[1]) - n - 1 }`

// articles measures the claims of the articles that motivated this project.
func articles(ctx context.Context, s settings) ([]table, error) {
	fifty, err := fiftyCallers(ctx, s)
	if err != nil {
		return nil, err
	}
	remote, err := farAway(ctx, s)
	return append(fifty, remote...), err
}

// fiftyCallers checks a claim in the articles: with 50 callers, Redis runs 50 000 scripts per second, and 99.99 % of
// them take less than 5 ms.
func fiftyCallers(ctx context.Context, s settings) ([]table, error) {
	servers, err := startSeveral(ctx, 2)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	store, err := open(ctx, "redis://"+servers[0].address, stack.Config{})
	if err != nil {
		return nil, err
	}
	contenders := []contender{asked(ctx, "headgate", store, crowded), evalsha(ctx, "EVALSHA by go-redis, 50 connections", servers[1], bucketScript)}
	defer finish(contenders)
	samples, err := interleave(contenders, load{row: "articles", callers: 50, keys: names(100_000), timed: true}, s)
	if err != nil {
		return nil, err
	}
	article, script := "the articles", []string{contenders[1].name}
	return []table{
		{
			title: "50 callers, 100 000 keys", unit: "decisions/s", reach: 2.5, beside: script,
			lines: append(compare(contenders, samples, perSecondOf), line{name: article, value: 50_000}),
		},
		{
			title: "50 callers, 99.99 % of decisions", unit: "within, ms", lower: true, reach: 1, beside: script,
			lines: append(compare(contenders, samples, func(s sample) float64 { return s.p9999.Seconds() * 1000 }), line{name: article, value: 5}),
		},
	}, nil
}

// evalsha returns a contender that runs a script on each key and ignores the reply.
func evalsha(ctx context.Context, name string, s *server, body string) contender {
	client, script := redis.NewClient(&redis.Options{Addr: s.address, PoolSize: 50}), redis.NewScript(body)
	return contender{
		name: name,
		ask:  func(key string) error { return script.Run(ctx, client, []string{key}).Err() },
		done: func() { _ = client.Close() },
	}
}

// farAway measures a Redis with a delay of 2 ms in each direction, one hot key, and four connections.
func farAway(ctx context.Context, s settings) ([]table, error) {
	servers, err := startSeveral(ctx, 2)
	if err != nil {
		return nil, err
	}
	defer stopAll(servers)
	for _, server := range servers {
		if server.address, err = distant(ctx, server.address, 2*time.Millisecond); err != nil {
			return nil, err
		}
	}
	contenders, err := logs(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer finish(contenders)
	hot := names(1)
	flat, err := interleave(contenders[1:], load{callers: 2048, keys: hot}, s)
	if err != nil {
		return nil, err
	}
	sustained := median(flat[0], perSecondOf)
	var tables []table
	for _, row := range []struct{ times, reach float64 }{{0.9, 0.5}, {2, 0.2}} {
		samples, err := interleave(contenders, load{row: fmt.Sprintf("far %.1f", row.times), callers: 2048, keys: hot, perSecond: row.times * sustained}, s)
		if err != nil {
			return nil, err
		}
		tables = append(tables, table{
			title: fmt.Sprintf("A log of 1000/s, one key, 2 ms away each way, at %.1f times what its script sustains (%s/s)", row.times, number(sustained)),
			unit:  "p99, µs", lower: true, reach: row.reach, lines: compare(contenders, samples, micros99),
		})
	}
	tables[0].note = "A round trip is 4 ms: no answer that asks the store comes sooner. One unit in so many passes, and each that passes is asked for."
	return tables, nil
}

// logs creates the sliding-log limiters: Headgate, and the articles' script.
func logs(ctx context.Context, servers []*server) (contenders []contender, err error) {
	limit := rule.SlidingLog(rule.PerSecond(perSecond))
	store, err := open(ctx, "redis://"+servers[0].address, stack.Config{Batch: batch.Config{InFlight: 16}})
	if err != nil {
		return nil, err
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{servers[1].address}, PipelineMultiplex: 2, DisableCache: true, AlwaysPipelining: true})
	if err != nil {
		return nil, err
	}
	script, most := rueidis.NewLuaScript(logScript), []string{strconv.Itoa(perSecond)}
	return []contender{asked(ctx, "headgate", store, limit), {
		name: "its script, pipelined over 4 connections", done: client.Close,
		ask: func(key string) error { return script.Exec(ctx, client, []string{key}, most).Error() },
	}}, nil
}

// distant returns an address where a proxy forwards all bytes to a server and back, with a delay in each direction.
func distant(ctx context.Context, address string, each time.Duration) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", address)
			if err != nil {
				_ = client.Close()
				continue
			}
			go later(client, server, each)
			go later(server, client, each)
		}
	}()
	return listener.Addr().String(), nil
}

// later forwards bytes from one connection to the other, and delays each byte by the same time.
func later(from, to net.Conn, each time.Duration) {
	type piece struct {
		due  time.Time
		data []byte
	}
	pieces := make(chan piece, 4096)
	go func() {
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		for range pieces { // until the other side closes
		}
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			pieces <- piece{time.Now().Add(each), append([]byte(nil), buffer[:n]...)}
		}
		if err != nil {
			close(pieces)
			_, _ = from.Close(), to.Close()
			return
		}
	}
}

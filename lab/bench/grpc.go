package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// grpcCallers is the number of concurrent callers. They share grpcConns connections.
const grpcCallers, grpcConns = 64, 4

// grpcRate is the number of calls per second while latency is measured. It is well below the slowest server's
// maximum, so that the latency does not include queueing.
const grpcRate = 1500

// grpcServers compares servers for Envoy's rate limit service. Each server runs in its own process, and the same
// client runs in this process.
func grpcServers(ctx context.Context, s settings) (tables []table, err error) {
	files, err := grpcFiles()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(files) }()
	var started []*server
	defer func() { stopAll(started) }()
	var contenders []*grpcContender
	start := func(name string, ours bool, values int, open func() (*server, error)) {
		if err != nil {
			return
		}
		var one *server
		if one, err = open(); err != nil {
			return
		}
		started = append(started, one)
		var c *grpcContender
		if c, err = dialGRPC(name, ours, one, values); err == nil {
			contenders = append(contenders, c)
		}
	}
	defer func() {
		for _, c := range contenders {
			c.close()
		}
	}()
	redisURL := func() string {
		r, failed := startRedis(ctx)
		if failed != nil {
			err = errors.Join(err, failed)
			return ""
		}
		started = append(started, r)
		return r.address
	}
	ourRedis, theirRedis := redisURL(), redisURL()
	few, many := filepath.Join(files, "few"), filepath.Join(files, "many")
	start("headgate, in memory", true, 10, func() (*server, error) { return startEnvoy(ctx, "memory", few, s) })
	start("headgate, on Redis", true, 10, func() (*server, error) { return startEnvoy(ctx, "redis://"+ourRedis, few, s) })
	start("headgate, 10 000 descriptors", true, 10_000, func() (*server, error) { return startEnvoy(ctx, "memory", many, s) })
	start("an empty grpc-go server", false, 10, func() (*server, error) { return startEmpty(ctx) })
	start("envoyproxy/ratelimit, on Redis", false, 10, func() (*server, error) { return startRival(ctx, theirRedis, few) })
	if err != nil {
		return nil, err
	}
	return measureGRPC(contenders, s)
}

// grpcFiles writes the configurations: one with 10 descriptors and one with 10 000.
func grpcFiles() (string, error) {
	root, err := os.MkdirTemp("", "headgate-bench")
	if err != nil {
		return "", err
	}
	for name, n := range map[string]int{"few": 10, "many": 10_000} {
		var b strings.Builder
		b.WriteString("domain: bench\ndescriptors:\n")
		for i := range n {
			fmt.Fprintf(&b, "  - key: plan\n    value: p%d\n    descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 1000000000}}]\n", i)
		}
		dir := filepath.Join(root, name, "config")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(b.String()), 0o600)); err != nil {
			return root, err
		}
	}
	return root, nil
}

// grpcContender is a running server and a client's connections to it.
type grpcContender struct {
	contender
	server  *server
	clients []pb.RateLimitServiceClient
	conns   []*grpc.ClientConn
	values  int
}

func dialGRPC(name string, ours bool, s *server, values int) (*grpcContender, error) {
	conns, err := dialConns(s)
	if err != nil {
		return nil, err
	}
	c := &grpcContender{server: s, values: values, conns: conns}
	for _, conn := range conns {
		c.clients = append(c.clients, pb.NewRateLimitServiceClient(conn))
	}
	c.contender = contender{name: name, ours: ours, ask: c.call}
	return c, c.call("warm")
}

// call sends one request with a plan from the configuration and one of a hundred thousand users.
func (c *grpcContender) call(key string) error {
	n := keyNumber(key)
	_, err := c.clients[n%grpcConns].ShouldRateLimit(context.Background(), &pb.RateLimitRequest{
		Domain: "bench",
		Descriptors: []*ratelimit.RateLimitDescriptor{{Entries: []*ratelimit.RateLimitDescriptor_Entry{
			{Key: "plan", Value: fmt.Sprintf("p%d", n%c.values)}, {Key: "user", Value: key},
		}}},
	})
	return err
}

func (c *grpcContender) close() { closeConns(c.conns) }

// dialConns opens a client's connections to a server.
func dialConns(s *server) (conns []*grpc.ClientConn, err error) {
	for range grpcConns {
		conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			closeConns(conns)
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

func closeConns(conns []*grpc.ClientConn) {
	for _, conn := range conns {
		_ = conn.Close()
	}
}

// keyNumber returns a hash of a key. It selects the connection and the values of the descriptor.
func keyNumber(key string) int {
	n := 0
	for i := range len(key) {
		n = n*31 + int(key[i])
	}
	return n & (1<<30 - 1)
}

// measureGRPC measures the contenders in turn. It first measures calls per second and CPU time at full load, then
// latency at a fixed rate. At full load, 64 concurrent callers would measure an overloaded server's latency.
func measureGRPC(contenders []*grpcContender, s settings) ([]table, error) {
	keys := make([]string, 100_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("user:%d", i)
	}
	perSecond, cpu := make([][]float64, len(contenders)), make([][]float64, len(contenders))
	busy, steady := make([][]float64, len(contenders)), make([][]float64, len(contenders))
	for round := range s.rounds {
		for i := range contenders {
			at := (i + round) % len(contenders)
			c := contenders[at]
			before := c.server.cpu()
			fast, err := turn(c.contender, load{row: "grpc", callers: grpcCallers, keys: keys, timed: true}, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			spent := c.server.cpu() - before
			slow, err := turn(c.contender, load{row: "grpc steady", callers: 16, keys: keys, perSecond: grpcRate}, s)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			perSecond[at] = append(perSecond[at], fast.perSecond)
			cpu[at] = append(cpu[at], spent.Seconds()*1e6/float64(fast.asked))
			busy[at] = append(busy[at], float64(fast.p50.Microseconds()))
			steady[at] = append(steady[at], float64(slow.p50.Microseconds()))
		}
	}
	return grpcTables(contenders, perSecond, cpu, busy, steady), nil
}

// grpcTables returns the tables. The contenders must be in the order of grpcServers.
func grpcTables(contenders []*grpcContender, perSecond, cpu, busy, steady [][]float64) []table {
	const memory, onRedis, many, empty, rival = 0, 1, 2, 3, 4
	row := func(i int, rounds [][]float64) line {
		return line{name: contenders[i].name, ours: contenders[i].ours, value: middle(rounds[i]), rounds: rounds[i]}
	}
	// above returns a server's CPU time minus the empty server's, which is the cost of deciding.
	above := func(i int) line {
		l := row(i, cpu)
		l.value, l.rounds = max(0, l.value-middle(cpu[empty])), nil
		return l
	}
	ten := row(memory, cpu)
	ten.name, ten.ours = "10 descriptors", false
	title := fmt.Sprintf("gRPC, %d callers", grpcCallers)
	return []table{
		{
			title: title + ", in memory", unit: "calls/s", reach: 0.85, beside: []string{contenders[empty].name},
			lines: []line{row(memory, perSecond), row(empty, perSecond)}, note: spreads(contenders, perSecond, memory, empty),
		},
		{
			title: title + ", on Redis", unit: "calls/s", reach: 0.6, beside: []string{contenders[empty].name},
			lines: []line{row(onRedis, perSecond), row(empty, perSecond), row(rival, perSecond)}, note: spreads(contenders, perSecond, onRedis, empty, rival),
		},
		{
			title: title + ", on Redis, p50", unit: "µs", lower: true, reach: 0.5,
			lines: []line{row(onRedis, busy), row(rival, busy)}, note: spreads(contenders, busy, onRedis, rival),
		},
		{
			title: fmt.Sprintf("gRPC on Redis, %d calls/s, p50", grpcRate), unit: "µs", lower: true, reach: 0.5, beside: []string{contenders[rival].name},
			lines: []line{row(onRedis, steady), row(rival, steady), row(empty, steady)}, note: spreads(contenders, steady, onRedis, rival, empty),
		},
		{
			title: "gRPC on Redis, CPU of the server a call, less the empty server's", unit: "µs", lower: true, reach: 0.4,
			lines: []line{above(onRedis), above(rival)}, note: spreads(contenders, cpu, onRedis, rival, empty),
		},
		{
			title: "gRPC in memory, 10 000 descriptors beside 10, CPU of the server a call", unit: "µs", lower: true, reach: 1.5,
			lines: []line{row(many, cpu), ten}, note: spreads(contenders, cpu, many, memory),
		},
	}
}

// spreads returns text with the lowest and highest value over the rounds for each contender in which.
func spreads(contenders []*grpcContender, rounds [][]float64, which ...int) string {
	var texts []string
	for _, i := range which {
		texts = append(texts, fmt.Sprintf("%s %s to %s", contenders[i].name, number(slices.Min(rounds[i])), number(slices.Max(rounds[i]))))
	}
	return "Rounds: " + strings.Join(texts, "; ") + "."
}

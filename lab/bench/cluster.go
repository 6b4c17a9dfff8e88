package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/layer/stack"
)

const slots = 16384

// startCluster starts a Cluster with the given number of primaries.
func startCluster(ctx context.Context, nodes int) (servers []*server, err error) {
	defer func() {
		if err != nil {
			stopAll(servers)
		}
	}()
	for n := range nodes {
		bus, err := freePort()
		if err != nil {
			return servers, err
		}
		s, err := startRedis(ctx, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus))
		if err != nil {
			return servers, err
		}
		s.bus = bus
		servers = append(servers, s)
		client := redis.NewClient(&redis.Options{Addr: s.address})
		err = client.ClusterAddSlotsRange(ctx, n*slots/nodes, (n+1)*slots/nodes-1).Err()
		if err == nil {
			err = client.Do(ctx, "cluster", "set-config-epoch", n+1).Err()
		}
		if err == nil && n > 0 {
			host, port, _ := strings.Cut(servers[0].address, ":")
			err = client.Do(ctx, "cluster", "meet", host, port, servers[0].bus).Err()
		}
		if err = errors.Join(err, client.Close()); err != nil {
			return servers, err
		}
	}
	for _, s := range servers {
		if err := s.wholeCluster(ctx); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

// wholeCluster waits until a node reports that every slot is served.
func (s *server) wholeCluster(ctx context.Context) error {
	client := redis.NewClient(&redis.Options{Addr: s.address})
	defer func() { _ = client.Close() }()
	for range 200 {
		info, err := client.ClusterInfo(ctx).Result()
		if err == nil && strings.Contains(info, "cluster_state:ok") {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("the Cluster does not form")
}

// onCluster compares three nodes with one node, using a hash tag per subject and hash tags shared by many subjects.
func onCluster(ctx context.Context, s settings) ([]table, error) {
	one, err := startRedis(ctx)
	if err != nil {
		return nil, err
	}
	defer one.stop()
	three, err := startCluster(ctx, 3)
	if err != nil {
		return nil, err
	}
	defer stopAll(three)
	var contenders []contender
	defer func() { finish(contenders) }()
	for _, c := range []struct {
		name, url string
		ours      bool
	}{
		{"headgate, 3 nodes, 6 shards", address(three) + "?prefix=a&shards=6", true},
		{"headgate, 3 nodes, 96 shards", address(three) + "?prefix=b&shards=96", true},
		{"headgate, 3 nodes, each key a tag", address(three) + "?prefix=c", true},
		{"headgate, 1 node", "redis://" + one.address, false},
	} {
		store, err := open(ctx, c.url, stack.Config{})
		if err != nil {
			return nil, err
		}
		made := asked(ctx, c.name, store, crowded)
		made.ours = c.ours
		contenders = append(contenders, made)
	}
	samples, err := interleave(contenders, load{row: "cluster", callers: 512, keys: names(100_000)}, s)
	if err != nil {
		return nil, err
	}
	writes := func(s sample) float64 { return s.writes * 1000 }
	return []table{
		{
			title: "On a Cluster, 512 callers, 100 000 keys", unit: "decisions/s", reach: 0.8, lines: compare(contenders, samples, perSecondOf),
			note: "All nodes and the callers share the two cores, so three nodes are no more machine than one.",
		},
		{title: "Network writes for 1000 decisions, 3 nodes", unit: "writes", lower: true, reach: 0.1, lines: append(compare(contenders[:3], samples, writes), line{name: "one for each decision", value: 1000})},
	}, nil
}

func address(nodes []*server) string {
	var hosts []string
	for _, s := range nodes {
		hosts = append(hosts, s.address)
	}
	return "redis+cluster://" + strings.Join(hosts, ",")
}

// systemWrites returns the number of write calls made by this process, or 0 if the system does not report it. While a
// limiter is being measured, nothing else in the process writes.
func systemWrites() (n int64) {
	data, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(data), "syscw: ")
	_, _ = fmt.Sscan(after, &n)
	return n
}

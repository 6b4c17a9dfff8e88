package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// counted are the flags that make a server count for operators: metrics, top keys and sampled log lines.
var counted = []string{"--admin", "127.0.0.1:0", "--log-denied", "10/s"}

// operators compares a server that counts for operators with a server that does not.
func operators(ctx context.Context, s settings) (tables []table, err error) {
	files, err := grpcFiles()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(files) }()
	var started []*server
	defer func() { stopAll(started) }()
	start := func(flags ...string) *server {
		if err != nil {
			return nil
		}
		var one *server
		if one, err = startPrinting(exec.CommandContext(ctx, "../bin/headgate", append([]string{"serve", "--http", "off"}, flags...)...)); err == nil {
			started = append(started, one)
		}
		return one
	}
	resp := []string{"--resp", "127.0.0.1:0"}
	envoy := []string{"--resp", "off", "--grpc", "127.0.0.1:0", "--envoy-config", filepath.Join(files, "few", "config")}
	respOn, respOff := start(append(resp, counted...)...), start(resp...)
	grpcOn, grpcOff := start(append(envoy, counted...)...), start(envoy...)
	if err != nil {
		return nil, err
	}
	depth, err := beside(s, func(on bool) (float64, error) {
		a := served{server: respOff, words: []string{"CL.THROTTLE", "key:__rand_int__", "15", "30", "60"}}
		if on {
			a.server = respOn
		}
		return a.round(ctx, 64, s)
	})
	if err != nil {
		return nil, err
	}
	calls, err := grpcBeside(grpcOn, grpcOff, s)
	if err != nil {
		return nil, err
	}
	depth.title, depth.unit, depth.reach = "Counting for operators: RESP in memory, depth 64", "commands/s", 0.9
	calls.title, calls.unit, calls.reach = fmt.Sprintf("Counting for operators: gRPC in memory, %d callers", grpcCallers), "calls/s", 0.95
	return []table{depth, calls}, nil
}

// grpcBeside compares two servers for Envoy's rate limit service. The server named on counts for operators, and the
// server named off does not.
func grpcBeside(on, off *server, s settings) (table, error) {
	var contenders [2]*grpcContender
	for i, one := range []*server{off, on} {
		c, err := dialGRPC("headgate", false, one, 10)
		if err != nil {
			return table{}, err
		}
		defer c.close()
		contenders[i] = c
	}
	keys := names(100_000)
	return beside(s, func(on bool) (float64, error) {
		c := contenders[0]
		if on {
			c = contenders[1]
		}
		one, err := turn(c.contender, load{row: "operators", callers: grpcCallers, keys: keys}, s)
		return one.perSecond, err
	})
}

// beside alternates between measurements with and without counting, and returns a table of the medians. The table's note
// contains the ratio for each pair of measurements.
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
		lines: []line{{name: "with --admin and --log-denied", ours: true, value: middle(rates[0]) * middle(ratios)}, {name: "without", value: middle(rates[0])}},
		note:  fmt.Sprintf("The ratio is the median of %d pairs: %.2f to %.2f.", len(ratios), ratios[0], ratios[len(ratios)-1]),
	}, nil
}

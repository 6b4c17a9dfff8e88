package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	traffic "github.com/headgate/headgate/server/load"
)

// manyPolicies is the number of policies in the reloaded file.
const manyPolicies = 10_000

// reloads compares the second when 10 000 policies are reloaded with the second before. Callers send requests at a
// fixed rate, and latency is measured from the time when a request was due.
func reloads(ctx context.Context, s settings) ([]table, error) {
	dir, err := os.MkdirTemp("", "headgate-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "policies.yaml")
	if err := writePolicies(file, 0); err != nil {
		return nil, err
	}
	r, err := startReloading(ctx, file)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	target, err := traffic.Open(ctx, "resp://"+r.address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Close() }()
	var quiet, reloading, ratios []float64
	for round := range 2*s.rounds + 1 {
		// Skip one second, because the previous reload left work for the garbage collector.
		if _, err := r.second(ctx, target, nil); err != nil {
			return nil, err
		}
		before, err := r.second(ctx, target, nil)
		if err != nil {
			return nil, err
		}
		during, err := r.second(ctx, target, func() error { return writePolicies(file, round+1) })
		if err != nil {
			return nil, err
		}
		quiet, reloading, ratios = append(quiet, before), append(reloading, during), append(ratios, during/before)
	}
	return []table{{
		title: "10 000 policies put in force under load, 8 callers, 10 000 requests/s", unit: "p99.9, µs", lower: true, reach: 3,
		lines: []line{
			{name: "the second of the reload", ours: true, value: middle(quiet) * middle(ratios)},
			{name: "the second before", value: middle(quiet)},
		},
		note: fmt.Sprintf("The ratio is the median of %d pairs of seconds; p99.9 of the reloads themselves is %s in the middle. No request failed.", len(ratios), number(middle(reloading))),
	}}, nil
}

// writePolicies replaces the file with a version whose rates differ from the previous version's.
func writePolicies(name string, version int) error {
	var text strings.Builder
	text.WriteString("policies:\n")
	for i := range manyPolicies {
		fmt.Fprintf(&text, "  p%d: {algorithm: token-bucket, rate: %d/s, burst: 200}\n", i, 100+(i+version)%50)
	}
	if err := os.WriteFile(name+".new", []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// reloading is a server whose log shows when policies become active.
type reloading struct {
	*server
	inForce chan struct{}
}

func startReloading(ctx context.Context, file string) (*reloading, error) {
	c := exec.CommandContext(ctx, "../bin/headgate", "serve", "--config", file, "--resp", "127.0.0.1:0", "--http", "off")
	log, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	r := &reloading{inForce: make(chan struct{}, 1000)}
	if r.server, err = startPrinting(c); err != nil {
		return nil, err
	}
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if strings.Contains(lines.Text(), "policies in force") {
				r.inForce <- struct{}{}
			}
		}
	}()
	<-r.inForce
	return r, nil
}

// second sends load to the server for a second and returns the p99.9 in µs. If the function change is not nil, it
// replaces the file during that second.
func (r *reloading) second(ctx context.Context, target traffic.Target, change func() error) (float64, error) {
	changed := make(chan error, 1)
	go func() {
		if change == nil {
			changed <- nil
			return
		}
		err := change()
		if err == nil {
			err = r.command.Process.Signal(syscall.SIGHUP)
		}
		changed <- err
	}()
	c := traffic.Config{Policy: "p5000", Keys: 10_000, Callers: 8, Rate: 10_000, Duration: time.Second, Timeout: time.Second}
	report, err := traffic.Run(ctx, target, c, func(time.Duration, traffic.Progress) {})
	if err = errors.Join(err, <-changed); err != nil {
		return 0, err
	}
	if report.Failed > 0 {
		return 0, fmt.Errorf("%d requests failed: %w", report.Failed, report.Error)
	}
	if change != nil {
		select {
		case <-r.inForce:
		case <-time.After(10 * time.Second):
			return 0, errors.New("the server did not put the policies in force")
		}
	}
	return float64(report.Latency.ValueAtQuantile(99.9)), nil
}

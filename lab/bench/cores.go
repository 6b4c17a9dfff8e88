package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
)

// onOwnCores compares the contenders once more, with their servers on the last core and this process on the others, as if
// each were on a machine of its own. On shared cores, a program that wakes hundreds of callers at once delays the server.
// It returns no tables, and says why, if there is only one core or no taskset.
func onOwnCores(ctx context.Context, contenders, ceilings []contender, servers []*server, l load, reach float64, s settings) (tables []table, err error) {
	last := runtime.NumCPU() - 1
	if _, err := exec.LookPath("taskset"); err != nil || last == 0 {
		fmt.Fprintln(os.Stderr, "bench: no rows with a server on a core of its own: they need two cores and taskset")
		return nil, nil
	}
	place := func(own, others string) (err error) {
		for _, server := range servers {
			err = errors.Join(err, pin(ctx, server.command.Process.Pid, own))
		}
		return errors.Join(err, pin(ctx, os.Getpid(), others))
	}
	every := fmt.Sprintf("0-%d", last)
	before := runtime.GOMAXPROCS(last)
	defer func() {
		runtime.GOMAXPROCS(before)
		err = errors.Join(err, place(every, every))
	}()
	if err := place(strconv.Itoa(last), fmt.Sprintf("0-%d", last-1)); err != nil {
		return nil, err
	}
	samples, err := interleave(slices.Concat(contenders, ceilings), l, s)
	if err != nil {
		return nil, err
	}
	n := len(contenders)
	lines, highest := compare(contenders, samples, perSecondOf), compare(ceilings, samples[n:], perSecondOf)
	const title = "On one Redis with a core of its own, 512 callers, 100 000 keys"
	return []table{
		{title: title, unit: "decisions/s", reach: reach, beside: redisRate, lines: lines, costs: true},
		{title: title + ", beside its ceiling", unit: "decisions/s", reach: 0.78, beside: []string{ceilings[0].name}, lines: append(lines[:1:1], highest...)},
	}, nil
}

// pin lets the threads of a process, and those that they start, run on these cores only.
func pin(ctx context.Context, process int, cores string) error {
	out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", cores, strconv.Itoa(process)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, out)
	}
	return nil
}

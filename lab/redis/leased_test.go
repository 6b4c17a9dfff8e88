package redis

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/layer/membership"
	"github.com/headgate/headgate/layer/prefetch"
	"github.com/headgate/headgate/redisstore"
)

// The tasks for the processes in TestLeased.
const (
	leaseTask    = "lease " // followed by the limit
	leaseLife    = 200 * time.Millisecond
	leaseSettled = 4 * time.Second // by then the processes have found each other
	leaseLasts   = 4 * time.Second
)

// spendLeases is the main function of a process in TestLeased. The process sends requests for one hot key at its own
// rate. It writes the time of every admitted request to standard output immediately, because it may be killed.
func spendLeases(store *redisstore.Store, task string) error {
	var perSecond int
	if _, err := fmt.Sscanf(task, leaseTask+"%d", &perSecond); err != nil {
		return err
	}
	_, text, _ := strings.Cut(strings.TrimPrefix(task, leaseTask), " ")
	limit, err := engine.ParseLimit(text)
	if err != nil {
		return err
	}
	together, err := batch.New(store, batch.Config{})
	if err != nil {
		return err
	}
	member, err := membership.New(store, membership.Config{})
	if err != nil {
		return err
	}
	leased, err := prefetch.New(together, member, prefetch.Config{Limits: []engine.Limit{limit}, Life: leaseLife, MaxUnits: 1000})
	if err != nil {
		return err
	}
	defer leased.Close()
	time.Sleep(leaseSettled)
	l := headgate.New(headgate.WithStore(leased))
	for end := time.Now().Add(leaseLasts); time.Now().Before(end); {
		time.Sleep(time.Duration(rand.Int64N(2 * int64(time.Second) / int64(perSecond))))
		at := time.Now()
		d, err := l.PolicyOf("", limit).Allow(context.Background(), "hot")
		if err != nil {
			return err
		}
		if d.Allowed {
			if err := binary.Write(os.Stdout, binary.BigEndian, at.UnixMicro()); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(os.Stderr, "%+v", leased.Stats())
	return nil
}

// Four processes with different rates on one Redis are stopped and continued at random, and one is killed. No window
// admits more than its limit, and a bucket never admits more than the stated bound in any time span.
func TestLeased(t *testing.T) {
	d := testbed.Guard(t, testbed.Standalone(t, redistest.Redis))
	for _, c := range []struct {
		limit string
		bound int // units per second
	}{
		{"fixed-window 1000/1s align clock", 1000},
		{"sliding-log 1000/1s", 1000},
		// The bound is a burst, the refill in a second, and the refill during the life of prefetched units.
		{"1000/s burst 1000", 2000 + 200},
	} {
		t.Run(c.limit, func(t *testing.T) {
			t.Parallel()
			own := testbed.Prefix()
			d.User.Permit(t, own)
			passed, pauses := leasedProcesses(t, d.User.In(d.URL)+"?prefix="+own, c.limit)
			most := 0
			if strings.HasPrefix(c.limit, "fixed") {
				windows := map[int64]int{}
				for _, at := range passed {
					windows[at/1_000_000]++
					most = max(most, windows[at/1_000_000])
				}
			} else {
				most = mostWithin(passed, time.Second.Microseconds())
			}
			// If a process is stopped between reading its clock and sending a request, it reports a wrong time for that
			// request. Requests at a window's edge are affected too.
			if slack := pauses + 8; most > c.bound+slack {
				t.Errorf("%d passed within a second, want %d at most, and %d that were stopped in between", most, c.bound, slack)
			}
			if len(passed) < 1000 {
				t.Errorf("only %d passed in %v", len(passed), leaseLasts)
			}
			t.Logf("%d passed, %d within a second at most", len(passed), most)
		})
	}
}

// leasedProcesses runs the processes. It returns the sorted times of all admitted requests, and how often a process
// was stopped.
func leasedProcesses(t *testing.T, url, limit string) (passed []int64, pauses int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	running := make([]*exec.Cmd, 4)
	killed := false
	for i, perSecond := range []int{600, 3000, 900, 200} {
		c := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), askerURL+"="+url, askerClient+"=rueidis", fmt.Sprintf("%s=%s%d %s", askerTask, leaseTask, perSecond, limit))
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		var said strings.Builder
		c.Stderr = &said
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		running[i] = c
		wg.Go(func() {
			data, _ := io.ReadAll(out)
			err := c.Wait()
			mu.Lock()
			defer mu.Unlock()
			for ; len(data) >= 8; data = data[8:] {
				passed = append(passed, int64(binary.BigEndian.Uint64(data)))
			}
			if err != nil && (i != 0 || !killed) {
				t.Errorf("process %d: %v: %s", i, err, said.String())
			}
			t.Logf("process %d: %s", i, said.String())
		})
	}
	time.Sleep(leaseSettled)
	for end := time.Now().Add(leaseLasts - 500*time.Millisecond); time.Now().Before(end); pauses++ {
		victim := running[1+pauses%3].Process
		_ = victim.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(rand.Int64N(int64(2 * leaseLife))))
		_ = victim.Signal(syscall.SIGCONT)
		time.Sleep(time.Duration(rand.Int64N(int64(leaseLife))))
		if pauses == 5 {
			mu.Lock()
			killed = true
			mu.Unlock()
			_ = running[0].Process.Kill()
		}
	}
	wg.Wait()
	return passed, pauses
}

// mostWithin returns the largest number of the given times within any span of the given length.
func mostWithin(times []int64, span int64) (most int) {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	for i, from := 0, 0; i < len(sorted); i++ {
		for sorted[i]-sorted[from] >= span {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

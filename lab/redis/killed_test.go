package redis

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// kills is the number of processes to kill between a reserve and its commit, on each deployment.
var kills = flag.Int("kills", 12, "processes that are killed between a reserve and its commit")

// callTask is the task for the processes in TestKilledBeforeItsCommit.
const callTask = "call"

// termOfCalls is the term of calls. It is longer than a process on a busy machine takes between its reserve and its
// report.
const termOfCalls = 3 * time.Second

// callPolicies returns the charges of a call. On a Cluster, their keys are on several slots.
func callPolicies(l *headgate.Limiter, units int64) []headgate.Charge {
	tokens := l.PolicyOf("tokens", rule.FixedWindow(rule.PerDay(1_000_000_000))).SettleWithin(termOfCalls, engine.ReleaseCharge)
	budget := l.PolicyOf("budget", rule.SlidingWindow(rule.PerDay(1_000_000_000)))
	return []headgate.Charge{{Policy: tokens, Key: "ann", Units: units}, {Policy: budget, Key: "org", Units: 10 * units}}
}

// callAndWait is the main function of a process in TestKilledBeforeItsCommit. The process settles some calls, reserves
// another call, may report on that call, and waits to be killed. It prints the number of units used on the first
// charge.
func callAndWait(store *redisstore.Store) error {
	ctx, l := context.Background(), headgate.New(headgate.WithStore(store))
	total := int64(0)
	for range rand.N(3) {
		units, used := 1+rand.Int64N(1000), rand.Int64N(2000)
		r, _, err := l.ReserveAll(ctx, callPolicies(l, units)...)
		if err == nil {
			_, err = r.Commit(ctx, used, 10*used)
		}
		if err != nil {
			return err
		}
		total += used
	}
	r, _, err := l.ReserveAll(ctx, callPolicies(l, 1+rand.Int64N(1000))...)
	if err != nil {
		return err
	}
	if rand.N(2) == 0 {
		used := rand.Int64N(2000)
		if err := r.Report(ctx, used, 10*used); err != nil {
			return fmt.Errorf("a report on an open reservation: %w", err)
		}
		total += used
	}
	fmt.Println(total)
	time.Sleep(time.Hour)
	return nil
}

// Processes are killed between a reserve and its commit. After the term, the counters equal the sum of all commits and
// reports.
func TestKilledBeforeItsCommit(t *testing.T) {
	testbed.EverywhereChosen(t, func(t *testing.T, d testbed.Deployment, client string, _ testbed.Open) {
		own := testbed.Prefix()
		d.User.Permit(t, own)
		url := d.User.In(d.URL) + "?prefix=" + own
		var want int64
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				for range *kills / 2 {
					used := killedBeforeItsCommit(t, client, url)
					mu.Lock()
					want += used
					mu.Unlock()
				}
			})
		}
		all.Wait()
		store, err := openAs(client)(context.Background(), url, redisstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		l := headgate.New(headgate.WithStore(store))
		t.Cleanup(func() { _ = l.Close() })
		charges := callPolicies(l, 0)
		endAll(t, store)
		for i, used := range []int64{want, 10 * want} {
			d, err := charges[i].Policy.Peek(context.Background(), charges[i].Key, 0)
			if err != nil || d.Limit-d.Remaining != used {
				t.Errorf("charge %d: %d units are charged, %v; %d were used", i, d.Limit-d.Remaining, err, used)
			}
		}
		t.Logf("%d killed, %d units used", *kills, want)
	})
}

// endAll ends reservations whose terms have expired, until no reservation is open.
func endAll(t *testing.T, store *redisstore.Store) {
	t.Helper()
	ctx := context.Background()
	for began := time.Now(); ; {
		due, err := store.Due(ctx) // on a Cluster, this returns one of 30 parts of the slots
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range due {
			results := make([]engine.Answer, 1)
			if store.Do(ctx, []engine.Op{r.Overdue()}, results); results[0].Err != nil {
				t.Fatal(results[0].Err)
			}
		}
		count, err := store.OpenCount(ctx)
		switch {
		case err != nil:
			t.Fatal(err)
		case count == 0:
			return
		case time.Since(began) > time.Minute:
			t.Fatalf("%d reservations are open a minute after their processes", count)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// killedBeforeItsCommit runs callAndWait in a process until it has an open reservation, kills the process, and returns
// the number of units that it used.
func killedBeforeItsCommit(t *testing.T, client, url string) (used int64) {
	c := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), askerURL+"="+url, askerClient+"="+client, askerTask+"="+callTask)
	var errors strings.Builder
	c.Stderr = &errors
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(said, &used); err != nil || scanned != nil {
		t.Errorf("%q, %v: %s", said, err, errors.String())
	}
	_ = c.Process.Kill()
	_ = c.Wait()
	return used
}

package redis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"

	goredisadapter "github.com/headgate/headgate/adapter/goredis"
	rueidisadapter "github.com/headgate/headgate/adapter/rueidis"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/lab/linearize"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/batch"
	"github.com/headgate/headgate/redisstore"
)

// These environment variables configure a process of this test binary: the store's URL, the client, and the task. The
// task is callTask, a text that begins with leaseTask, an index into linearize.Limits(), or "25" for pass(store, 25).
const (
	askerURL    = "HEADGATE_TEST_ASK"
	askerClient = "HEADGATE_TEST_CLIENT"
	askerTask   = "HEADGATE_TEST_TASK"
)

// asking is one recorded operation, in the format for exchange between processes.
type asking struct {
	In           linearize.Asked
	Out          linearize.Answered
	Call, Return int64
}

// ask is the main function of a process started by a test. It writes its answers to standard output.
func ask(url string) int {
	opened, err := openAs(os.Getenv(askerClient))(context.Background(), url, redisstore.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if task := os.Getenv(askerTask); strings.HasPrefix(task, leaseTask) {
		if err := spendLeases(opened, task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if os.Getenv(askerTask) == callTask {
		err := callAndWait(opened)
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	store, err := batch.New(opened, batch.Config{InFlight: 2})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer store.Close()
	var index int
	if task := os.Getenv(askerTask); task == "25" {
		err = json.NewEncoder(os.Stdout).Encode(pass(store, 25))
	} else if _, err = fmt.Sscan(task, &index); err == nil {
		var said []asking
		for _, o := range linearize.Record(store, linearize.Limits()[index], 16) {
			said = append(said, asking{o.Input.(linearize.Asked), o.Output.(linearize.Answered), o.Call, o.Return})
		}
		err = json.NewEncoder(os.Stdout).Encode(said)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// openAs returns a function that opens the URLs of this package's deployments with the given client.
func openAs(client string) func(context.Context, string, redisstore.Config) (*redisstore.Store, error) {
	if client == "goredis" {
		return openByGoredis
	}
	return rueidisadapter.Open
}

// openByGoredis opens the URLs of this package's deployments with go-redis.
func openByGoredis(_ context.Context, url string, c redisstore.Config) (*redisstore.Store, error) {
	scheme, rest, _ := strings.Cut(url, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, master, _ := strings.Cut(rest, "/")
	c.Prefix = strings.TrimPrefix(query, "prefix=")
	var as *testbed.User
	if others, named := strings.CutPrefix(hosts, testbed.UserName+":"+testbed.UserWord+"@"); named {
		hosts, as = others, new(testbed.User)
	}
	var client redis.UniversalClient
	switch addrs := strings.Split(hosts, ","); scheme {
	case "redis+cluster":
		client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true, DisableIdentity: true})
	case "redis+sentinel":
		client = redis.NewFailoverClient(&redis.FailoverOptions{MasterName: master, SentinelAddrs: addrs, ContextTimeoutEnabled: true, DisableIdentity: true})
	default:
		client = redis.NewClient(&redis.Options{Addr: hosts, ContextTimeoutEnabled: true, DisableIdentity: true})
	}
	as.Of(client)
	conn, err := goredisadapter.New(client)
	if err != nil {
		return nil, err
	}
	return redisstore.New(conn, c)
}

// pass sends parallel requests under a limit of 25 an hour, and returns how many pass. A failed call counts 1000.
func pass(store engine.Store, parallel int) (passed int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			r := testbed.Take(store, "shared", rule.SlidingLog(rule.PerHour(25)))
			mu.Lock()
			defer mu.Unlock()
			if r.Err != nil {
				passed += 1000 // no call may fail
			} else if r.Allowed {
				passed++
			}
		})
	}
	wg.Wait()
	return passed
}

// processes runs several processes of this test binary concurrently on the same store, and returns their output.
func processes(t *testing.T, n int, client, url, task string) [][]byte {
	t.Helper()
	outputs := make([][]byte, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			c := exec.CommandContext(context.Background(), os.Args[0], "-test.run=^$")
			c.Env = append(os.Environ(), askerURL+"="+url, askerClient+"="+client, askerTask+"="+task)
			var errors bytes.Buffer
			c.Stderr = &errors
			out, err := c.Output()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, errors.String())
			}
			outputs[i] = out
		})
	}
	wg.Wait()
	return outputs
}

// linearOverProcesses searches for a sequential order of the answers to four processes that do not communicate.
func linearOverProcesses(t *testing.T, client string, d testbed.Deployment) {
	t.Helper()
	for i, limit := range linearize.Limits() {
		var history []porcupine.Operation
		own := testbed.Prefix()
		d.User.Permit(t, own)
		for p, out := range processes(t, 4, client, d.User.In(d.URL)+"?prefix="+own, fmt.Sprint(i)) {
			var said []asking
			if err := json.Unmarshal(out, &said); err != nil {
				t.Fatalf("process %d: %v", p, err)
			}
			for _, s := range said {
				history = append(history, porcupine.Operation{ClientId: p, Input: s.In, Output: s.Out, Call: s.Call, Return: s.Return})
			}
		}
		linearize.Check(t, limit, history)
	}
}

// Regression: bug 24. Of 50 parallel calls from two processes under a limit of 25, exactly 25 pass.
func TestProcesses(t *testing.T) {
	s := redistest.Standalone(t, redistest.Redis)
	passed := 0
	for i, client := range []string{"rueidis", "goredis"} {
		for _, out := range processes(t, 2, client, "redis://"+s.Addr()+"?prefix="+client, "25") {
			var n int
			if err := json.Unmarshal(out, &n); err != nil {
				t.Fatal(err)
			}
			passed += n
		}
		if passed != 25*(i+1) {
			t.Errorf("%s: %d of 50 parallel calls passed a limit of 25", client, passed)
		}
	}
}

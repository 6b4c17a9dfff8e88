package servers

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/redisstore"
)

// The verify command shows users that decisions on their Redis are exact. All answers are exact on every deployment,
// and no keys remain.
func TestVerifyCommand(t *testing.T) {
	t.Parallel()
	headgate := programs.Headgate(t)
	files, _ := filepath.Glob("../../storetest/vectors/*.json")
	testbed.Everywhere(t, func(t *testing.T, d testbed.Deployment, _ string, _ testbed.Open) {
		d.User.Permit(t, redisstore.DefaultPrefix)
		args := append([]string{"verify", "--store", d.User.In(d.URL)}, files...)
		out, err := exec.CommandContext(context.Background(), headgate, args...).CombinedOutput()
		if err != nil || strings.Count(string(out), ", 0 differences\n") != len(files) {
			t.Errorf("%v\n%s", err, out)
		}
		for _, s := range d.Holders() {
			if n := s.MustDo("dbsize"); n != int64(0) {
				t.Errorf("%v keys left behind", n)
			}
		}
	})
}

// serve starts `headgate serve` with a store, and returns a RESP client for the server.
func serve(t *testing.T, url string, flags ...string) *redis.Client {
	t.Helper()
	client, stop := serveBuild(t, programs.Headgate(t), url, flags...)
	t.Cleanup(stop)
	return client
}

// serveBuild is like serve, for a given build of the command. stop stops the server.
func serveBuild(t *testing.T, headgate, url string, flags ...string) (client *redis.Client, stop func()) {
	t.Helper()
	flags = append([]string{"serve", "--store", url, "--deadline", "5s", "--resp", "127.0.0.1:0", "--http", "off", "--drain", "0s"}, flags...)
	c := exec.CommandContext(context.Background(), headgate, flags...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errors strings.Builder
	c.Stderr = &errors
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("serve: %v: %s", err, errors.String())
	}
	address := strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]) // resp listening on ADDRESS
	client = redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, PoolSize: 50, DisableIdentity: true})
	return client, func() {
		_ = client.Close()
		_ = c.Process.Signal(syscall.SIGTERM)
		_, _ = io.Copy(io.Discard, out)
		if err := c.Wait(); err != nil {
			t.Errorf("serve: %v: %s", err, errors.String())
		}
	}
}

// Two servers share one Redis. Of 50 parallel requests under a limit of 25, exactly 25 pass.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	servers := []*redis.Client{serve(t, "redis://"+s.Addr()), serve(t, "redis://"+s.Addr())}
	var passed, failed atomic.Int64
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			reply, err := servers[i%2].Do(context.Background(), "CL.THROTTLE", "k", 24, 25, 3600, 1).Int64Slice()
			switch {
			case err != nil:
				failed.Add(1)
			case reply[0] == 0:
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 25 || failed.Load() != 0 {
		t.Errorf("%d of 50 passed, %d failed; limit 25", passed.Load(), failed.Load())
	}
	// The commands that users of CL.THROTTLE run on its keys work through the server.
	ctx := context.Background()
	if ttl := servers[0].PTTL(ctx, "k").Val(); ttl < 50*time.Minute {
		t.Errorf("PTTL %s", ttl)
	}
	if s.MustDo("exists", "hg/:inline/tb/{k}") != int64(1) {
		t.Error("the key is not the one that docs/design/keys.md shows")
	}
}

// A policy with mode: leased is decided with the servers' prefetched units, reports that mode, and admits no more than
// its limit.
func TestServerLeases(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	text := "policies: {api: {algorithm: fixed-window, limit: 1000, window: 1h, mode: leased}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	servers := []*redis.Client{serve(t, "redis://"+s.Addr(), "--config", file), serve(t, "redis://"+s.Addr(), "--config", file)}
	calls := func() int64 {
		stats, _ := s.MustDo("info", "commandstats").(string)
		_, after, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
		number, _, _ := strings.Cut(after, ",")
		n, _ := strconv.ParseInt(number, 10, 64)
		return n
	}
	time.Sleep(5 * time.Second) // by then the servers have found each other
	passed, asked := 0, calls()
	for i := range 3000 {
		var reply []any
		var err error
		if client := servers[i/20%2]; i%3 > 0 {
			reply, err = client.Do(ctx, "HEADGATE.ALLOW", "api", "hot").Slice()
		} else {
			pipe := client.Pipeline()
			one, two := pipe.Do(ctx, "HEADGATE.ALLOW", "api", "hot"), pipe.Do(ctx, "HEADGATE.ALLOW", "api", "hot")
			_, err = pipe.Exec(ctx)
			if first, ok := one.Val().([]any); ok && first[0] == int64(0) {
				passed++
			}
			reply, _ = two.Val().([]any)
		}
		if err != nil {
			t.Fatal(err)
		}
		if reply[0] == int64(0) {
			passed++
		}
		if i == 400 {
			if asked = calls() - asked; asked > 200 {
				t.Errorf("Redis got %d requests for about 500 units", asked)
			}
		}
	}
	if passed > 1000 || passed < 900 {
		t.Errorf("%d passed, limit 1000", passed)
	}
	t.Logf("%d passed, the first 500 or so by %d calls of Redis", passed, asked)
}

// If the failure mode is deny, the server reports that Redis does not answer. When Redis answers again, the server
// decides again.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	client := serve(t, "redis://"+s.Addr(), "--failure", "deny")
	ctx := context.Background()
	if err := client.Do(ctx, "CL.THROTTLE", "k", 24, 25, 3600, 1).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	for range 3 { // the error must not contain the address of Redis
		err := client.Do(ctx, "CL.THROTTLE", "k", 24, 25, 3600, 1).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "UNAVAILABLE the store could not decide: ") || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("without Redis: %v", err)
		}
	}
	s.Start()
	var err error
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = client.Do(ctx, "CL.THROTTLE", "k", 24, 25, 3600, 1).Err(); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("Redis is back: %v", err)
	}
}

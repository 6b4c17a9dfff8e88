package clients

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/headgate/headgate/lab/programs"
	"github.com/headgate/headgate/server/daemon"
)

// serve runs a server like `headgate serve` and returns the host and port of its RESP listener.
func serve(t *testing.T) (host, port string) {
	t.Helper()
	address, _ := start(t, daemon.Config{RESP: "127.0.0.1:0", HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)})
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// article is the reply to CL.THROTTLE with the arguments 15 30 60 1 for an unused key, as shown in
// docs/reference/resp.md.
var article = []int64{0, 16, 15, -1, 2}

func TestGoRedis(t *testing.T) {
	host, port := serve(t)
	for _, protocol := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: net.JoinHostPort(host, port), Protocol: protocol})
		ctx := context.Background()
		key := "go-redis" + string(rune('0'+protocol))
		got, err := client.Do(ctx, "CL.THROTTLE", key, 15, 30, 60, 1).Int64Slice()
		if err != nil || !slices.Equal(got, article) {
			t.Errorf("protocol %d: %v, %v, want %v", protocol, got, err, article)
		}
		replies, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range 100 {
				p.Do(ctx, "CL.THROTTLE", key, 15, 30, 60, 1)
			}
			return nil
		})
		if last, e := replies[99].(*redis.Cmd).Int64Slice(); err != nil || e != nil || last[0] != 1 {
			t.Errorf("protocol %d: the last of a pipeline of 100: %v, %v, %v", protocol, last, err, e)
		}
		script := redis.NewScript("return redis.call('CL.THROTTLE', KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4])")
		if _, err := script.Run(ctx, client, []string{key}, 15, 30, 60, 0).Result(); err == nil || !strings.Contains(err.Error(), "CL.THROTTLE key max_burst") {
			t.Errorf("protocol %d: a script: %v", protocol, err)
		}
		if ttl, err := client.TTL(ctx, key).Result(); err != nil || ttl != 32*time.Second {
			t.Errorf("protocol %d: TTL %v, %v, want 32s", protocol, ttl, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRueidis(t *testing.T) {
	host, port := serve(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{net.JoinHostPort(host, port)}, DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range 3 {
		got, err := client.Do(context.Background(), client.B().Arbitrary("CL.THROTTLE").Keys("rueidis").Args("15", "30", "60", "1").Build()).AsIntSlice()
		want := []int64{0, 16, int64(15 - i), -1, int64(2 + 2*i)}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("call %d: %v, %v, want %v", i, got, err, want)
		}
	}
}

// If a program is missing, the tests that need it are skipped or, if tests must not be skipped, fail.
func TestMissingTool(t *testing.T) {
	const tests = "^(TestRedisCLI|TestRedisBenchmark|TestIORedis)$"
	for need, want := range map[string]string{"": "--- SKIP: ", "1": "--- FAIL: "} {
		again := exec.CommandContext(context.Background(), os.Args[0], "-test.run="+tests, "-test.v")
		again.Env = append(os.Environ(), "PATH="+t.TempDir(), "HEADGATE_NEED_SERVERS="+need)
		out, err := again.CombinedOutput()
		if (err != nil) != (need != "") || strings.Count(string(out), want) != 3 {
			t.Errorf("HEADGATE_NEED_SERVERS=%q: %v, want 3 of %sin\n%s", need, err, want, out)
		}
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := try(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// try returns the output of a program, or an error if it fails.
func try(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	return string(out), err
}

func TestRedisCLI(t *testing.T) {
	cli := programs.Tool(t, "redis-cli")
	host, port := serve(t)
	if got := run(t, "", cli, "-h", host, "-p", port, "CL.THROTTLE", "laoqian:reply", "15", "30", "60", "1"); got != "0\n16\n15\n-1\n2\n" {
		t.Errorf("redis-cli: %q", got)
	}
	if got := run(t, "", cli, "-3", "-h", host, "-p", port, "CL.THROTTLE", "laoqian:reply", "15", "x", "60"); !strings.HasPrefix(got, "ERR count per period must be") {
		t.Errorf("redis-cli, RESP3: %q", got)
	}
}

func TestRedisBenchmark(t *testing.T) {
	benchmark := programs.Tool(t, "redis-benchmark")
	host, port := serve(t)
	got := run(t, "", benchmark, "-h", host, "-p", port, "-q", "-n", "20000", "-P", "64", "-c", "20", "-r", "1000", "CL.THROTTLE", "key:__rand_int__", "15", "30", "60")
	if !strings.Contains(got, "requests per second") || strings.Contains(strings.ToLower(got), "error") {
		t.Errorf("redis-benchmark: %q", got)
	}
}

const ioredisProgram = `
const Redis = require("ioredis");
const client = new Redis({ host: process.argv[2], port: Number(process.argv[3]), maxRetriesPerRequest: 1 });
client.on("error", (e) => { console.error(e.message); process.exit(1); });
(async () => {
  console.log(JSON.stringify(await client.call("CL.THROTTLE", "ioredis", 15, 30, 60, 1)));
  const replies = await client.pipeline().ping().call("CL.THROTTLE", "ioredis", 15, 30, 60, 1).exec();
  console.log(JSON.stringify(replies));
  await client.quit();
})();
`

func TestIORedis(t *testing.T) {
	node := programs.Tool(t, "node")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "client.js"), []byte(ioredisProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	npmInstall(t, dir, "ioredis@5")
	host, port := serve(t)
	const want = "[0,16,15,-1,2]\n[[null,\"PONG\"],[null,[0,16,14,-1,4]]]\n"
	if got := run(t, dir, node, "client.js", host, port); got != want {
		t.Errorf("ioredis: %q, want %q", got, want)
	}
}

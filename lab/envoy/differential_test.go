package envoy

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/headgate/headgate/server/daemon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var steps = flag.Int("envoy-steps", 500, "random requests to each pair of servers")

// environments are the sets of environment variables for envoyproxy/ratelimit, with the same settings of ours. Each is tested with the configurations from
// all files.
var environments = []struct {
	name string
	set  []string
	ours func(*daemon.Config)
}{
	{name: "default"},
	{"headers", []string{"LIMIT_RESPONSE_HEADERS_ENABLED=true", "LIMIT_RESET_HEADER=X-Reset", "NEAR_LIMIT_RATIO=0.5"}, func(c *daemon.Config) {
		g := &c.GRPC
		h := &g.Options.Headers
		h.Enabled, h.Limit, h.Remaining, h.Reset = true, "RateLimit-Limit", "RateLimit-Remaining", "X-Reset"
		g.Options.NearLimitRatio = 0.5
	}},
	{"shadow", []string{"SHADOW_MODE=true", "MERGE_DOMAIN_CONFIG=true"}, func(c *daemon.Config) { c.GRPC.Options.Shadow, c.GRPC.Options.MergeDomains = true, true }},
}

// TestSameAnswers sends the same random requests to envoyproxy/ratelimit and to Headgate, in memory and on Redis. It
// compares the complete answers: codes, limits, remaining units, time until reset, headers, and error messages.
func TestSameAnswers(t *testing.T) {
	binary(t)
	for _, e := range environments {
		t.Run(e.name, func(t *testing.T) {
			root := t.TempDir()
			configurations := install(t, filepath.Join(root, "config"), e.name == "shadow")
			c := &comparison{t: t, upstream: startUpstream(t, root, e.set...), configurations: configurations}
			for _, onRedis := range []bool{false, true} {
				c.ours = append(c.ours, startOurs(t, filepath.Join(root, "config"), onRedis, e.ours))
			}
			c.run(rand.Uint64())
		})
	}
}

// install writes the configurations, and returns them for drawing requests. They come from envoyproxy/ratelimit's
// examples and tests, each under its own domain, and from this repository.
func install(t *testing.T, directory string, merge bool) (all []configuration) {
	t.Helper()
	if err := os.Mkdir(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	add := func(name, from, domain string) {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if domain != "" {
			data = bytes.Replace(data, []byte("domain: test-domain"), []byte("domain: "+domain), 1)
		}
		to := filepath.Join(directory, name)
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, readConfiguration(t, to))
	}
	upstream := module(t)
	add("example.yaml", filepath.Join(upstream, "examples/ratelimit/config/example.yaml"), "")
	add("config.yaml", filepath.Join(upstream, "examples/ratelimit/config/config.yaml"), "")
	for _, name := range []string{"basic_config", "shadowmode_config", "share_threshold", "wildcard"} {
		add(name+".yaml", filepath.Join(upstream, "test/config", name+".yaml"), name)
	}
	for _, name := range []string{"merge_domain_key1", "merge_domain_key2"} {
		domain := name
		if merge {
			domain = "merged"
		}
		add(name+".yaml", filepath.Join(upstream, "test/config", name+".yaml"), domain)
	}
	own, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range own {
		add(filepath.Base(from), from, "")
	}
	if len(all) < 12 {
		t.Fatalf("%d configurations, want at least 12", len(all))
	}
	return all
}

type comparison struct {
	t              *testing.T
	upstream       *peer
	ours           []*peer
	configurations []configuration
}

// run sends the requests. If the servers answer a request in different seconds, its hits may be in different windows,
// so nothing can be compared, and the counters of all servers are deleted.
func (c *comparison) run(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	late := 0
	for step := range *steps {
		q := c.configurations[r.IntN(len(c.configurations))].drawn(r)
		compare := c.overGRPC
		if r.IntN(10) == 0 {
			compare = c.overHTTP
		}
		second := awaitSecond()
		differences := compare(q)
		if time.Now().Unix() != second {
			late++
			c.upstream.forget()
			for _, p := range c.ours {
				p.forget()
			}
			continue
		}
		if differences != "" {
			c.t.Fatalf("seed %d, step %d, request %v:\n%s", seed, step, q, differences)
		}
	}
	if late > *steps/10 {
		c.t.Errorf("%d of %d steps were on the edge of a second", late, *steps)
	}
}

// awaitSecond returns the current second. If it is about to end, awaitSecond waits for the next one.
func awaitSecond() int64 {
	now := time.Now()
	if now.Nanosecond() > 900_000_000 {
		time.Sleep(time.Second - time.Duration(now.Nanosecond()) + 5*time.Millisecond)
	}
	return time.Now().Unix()
}

func (c *comparison) overGRPC(q *pb.RateLimitRequest) (differences string) {
	want, wantErr := c.upstream.client.ShouldRateLimit(context.Background(), q)
	for _, p := range c.ours {
		got, err := p.client.ShouldRateLimit(context.Background(), q)
		if status.Code(err) != status.Code(wantErr) || status.Convert(err).Message() != status.Convert(wantErr).Message() || !proto.Equal(got, want) {
			differences += fmt.Sprintf("%s: %v %v\nwant %v %v\n", p.name, got, err, want, wantErr)
		}
	}
	return differences
}

func (c *comparison) overHTTP(q *pb.RateLimitRequest) (differences string) {
	wantCode, want := c.post(c.upstream, q)
	for _, p := range c.ours {
		if code, got := c.post(p, q); code != wantCode || got != want {
			differences += fmt.Sprintf("%s: %d %s\nwant %d %s\n", p.name, code, got, wantCode, want)
		}
	}
	return differences
}

// post sends a request as JSON. It normalizes the response, because protojson varies the whitespace.
func (c *comparison) post(p *peer, q *pb.RateLimitRequest) (code int, body string) {
	data, err := protojson.Marshal(q)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.Post("http://"+p.http+"/json", "application/json", bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var answer pb.RateLimitResponse
	if protojson.Unmarshal(text, &answer) == nil {
		if text, err = (proto.MarshalOptions{Deterministic: true}).Marshal(&answer); err != nil {
			c.t.Fatal(err)
		}
		return response.StatusCode, fmt.Sprintf("%s %x", response.Header.Get("Content-Type"), text)
	}
	return response.StatusCode, response.Header.Get("Content-Type") + " " + string(text)
}

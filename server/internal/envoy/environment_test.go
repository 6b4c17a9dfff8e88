package envoy

import (
	"strings"
	"testing"
	"time"
)

// environment reads variables such as PORT=80. Words that begin with two dashes are flags that are set.
func environment(words ...string) (*Environment, error) {
	set, flags := map[string]string{}, map[string]bool{}
	for _, word := range words {
		if flag, ok := strings.CutPrefix(word, "--"); ok {
			flags[flag] = true
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		set[name] = value
	}
	return ReadEnvironment(func(name string) (string, bool) { v, ok := set[name]; return v, ok }, func(flag string) bool { return flags[flag] })
}

// TestEnvironment reads the environment variables of a typical ratelimit deployment, including ignored and unrelated
// ones, with flags in place of its addresses and its store.
func TestEnvironment(t *testing.T) {
	e, err := environment("PORT=80", "--http", "GRPC_PORT=8081", "--grpc", "RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "--envoy-config",
		"REDIS_URL=h:1", "REDIS_AUTH=secret", "--store", "GRPC_MAX_CONNECTION_AGE=1h", "SHADOW_MODE=true", "MERGE_DOMAIN_CONFIG=1",
		"LIMIT_RESPONSE_HEADERS_ENABLED=true", "LIMIT_RESET_HEADER=X-Reset", "USE_STATSD=false", "REDIS_POOL_SIZE=5", "REDIS_PERSECOND=false", "UNRELATED=1")
	if err != nil {
		t.Fatal(err)
	}
	o := e.Options
	if e.MaxAge != time.Hour || !o.Shadow || !o.MergeDomains || o.Quota || !o.Headers.Enabled || o.Headers.Reset != "X-Reset" || o.Headers.Limit != "RateLimit-Limit" {
		t.Errorf("%+v", e)
	}
}

// TestEnvironmentErrors checks that a value that is invalid, or whose effect would be lost, causes an error that
// names its variable.
func TestEnvironmentErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"SHADOW_MODE=maybe", `SHADOW_MODE="maybe"; accepted: true, false`},
		{"GRPC_MAX_CONNECTION_AGE=1", `GRPC_MAX_CONNECTION_AGE="1"; accepted: a duration such as 24h`},
		{"PORT=80 --grpc", `PORT is set; accepted: --http HOST:PORT`},
		{"REDIS_URL=redis://:secret@h:1", `REDIS_URL is set; accepted: --store URL`},
		{"GRPC_SERVER_USE_TLS=true", `GRPC_SERVER_USE_TLS is set; accepted: --tls-cert, --tls-key and --tls-client-ca`},
		{"BACKEND_TYPE=memcache --store", `BACKEND_TYPE is set; accepted: --store with a Redis, or memory`},
		{"HOST=h GRPC_UDS=/s", "HOST is set; accepted: --http HOST:PORT\nGRPC_UDS is set; accepted: --grpc HOST:PORT, or --grpc unix:PATH"},
	} {
		if _, err := environment(strings.Fields(c[0])...); err == nil || err.Error() != c[1] {
			t.Errorf("%s: %v\nwant %s", c[0], err, c[1])
		}
	}
}

package envoy

import (
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/redisstore/redisurl"
)

func environment(variables ...string) (*Environment, error) {
	set := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		set[name] = value
	}
	return ReadEnvironment(func(name string) (string, bool) { v, ok := set[name]; return v, ok })
}

// TestEnvironment reads the environment variables of a typical ratelimit deployment, including ignored and unrelated
// ones.
func TestEnvironment(t *testing.T) {
	e, err := environment("PORT=80", "GRPC_HOST=10.0.0.1", "RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "GRPC_MAX_CONNECTION_AGE=1h",
		"LOG_LEVEL=WARN", "SHADOW_MODE=true", "MERGE_DOMAIN_CONFIG=1", "NEAR_LIMIT_RATIO=0.5", "LIMIT_RESPONSE_HEADERS_ENABLED=true", "LIMIT_RESET_HEADER=X-Reset",
		"USE_STATSD=false", "REDIS_POOL_SIZE=5", "REDIS_PERSECOND=false", "UNRELATED=1")
	if err != nil {
		t.Fatal(err)
	}
	if e.HTTP != "0.0.0.0:80" || e.GRPC != "10.0.0.1:8081" || e.Directory != "/data/ratelimit/config" || e.MaxAge != time.Hour || e.LogLevel != "warn" || e.Store != "" {
		t.Errorf("%+v", e)
	}
	o := e.Options
	if !o.Shadow || !o.MergeDomains || o.NearLimitRatio != 0.5 || !o.Headers.Enabled || o.Headers.Reset != "X-Reset" || o.Headers.Limit != "RateLimit-Limit" {
		t.Errorf("%+v", o)
	}
}

// TestEnvironmentStores checks that the store accepts each URL, and that the URL refers to the same server as the
// variables.
func TestEnvironmentStores(t *testing.T) {
	for _, c := range []struct {
		variables string
		want      string
	}{
		{"REDIS_URL=/run/redis.sock", "unix:///run/redis.sock"},
		{"REDIS_SOCKET_TYPE=tcp REDIS_URL=h:1", "redis://h:1"},
		{"REDIS_SOCKET_TYPE=tcp REDIS_URL=h:1 REDIS_AUTH=p@/w REDIS_TLS=true REDIS_TLS_CACERT=/ca", "rediss://:p%40%2Fw@h:1?ca_file=%2Fca"},
		{"REDIS_TYPE=CLUSTER REDIS_URL=h:1,i:2 REDIS_AUTH=u:p", "redis+cluster://u:p@h:1,i:2"},
		{"REDIS_TYPE=sentinel REDIS_URL=main,h:1,i:2", "redis+sentinel://h:1,i:2/main"},
		{"REDIS_SOCKET_TYPE=tcp REDIS_URL=redis://u:p@h:1/2", "redis://u:p@h:1/2"},
		{"REDIS_TLS=true REDIS_URL=rediss://h:1?db=2 REDIS_TLS_CACERT=/ca", "rediss://h:1?db=2&ca_file=%2Fca"},
	} {
		e, err := environment(strings.Fields(c.variables)...)
		if err != nil || e.Store != c.want {
			t.Errorf("%s: %s, %v, want %s", c.variables, e.Store, err, c.want)
			continue
		}
		if _, err := redisurl.Parse(e.Store); err != nil {
			t.Errorf("%s: %v", e.Store, err)
		}
	}
	e, err := environment("REDIS_SOCKET_TYPE=tcp", "REDIS_URL=h:1", "REDIS_AUTH=p@/w +%")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := redisurl.Parse(e.Store); err != nil || a.Password != "p@/w +%" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestEnvironmentErrors checks that a value that is invalid, or whose effect would be lost, causes an error that
// names its variable.
func TestEnvironmentErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"PORT=abc", `PORT="abc"; accepted: the number of a port, 0 to 65535`},
		{"GRPC_PORT=65536", `GRPC_PORT="65536"; accepted: the number of a port, 0 to 65535`},
		{"SHADOW_MODE=maybe", `SHADOW_MODE="maybe"; accepted: true, false`},
		{"NEAR_LIMIT_RATIO=2", `NEAR_LIMIT_RATIO="2"; accepted: more than 0, up to 1`},
		{"GRPC_MAX_CONNECTION_AGE=1", `GRPC_MAX_CONNECTION_AGE="1"; accepted: a duration such as 24h`},
		{"LOG_LEVEL=loud", `LOG_LEVEL="loud"; accepted: trace, debug, info, warn, error, fatal, panic`},
		{"REDIS_URL=x REDIS_TYPE=ring", `REDIS_TYPE="ring"; accepted: SINGLE, SENTINEL, CLUSTER`},
		{"REDIS_URL=redis://h:1 REDIS_AUTH=secret", `REDIS_AUTH="a password"; accepted: none next to a REDIS_URL with ://, which contains the password`},
		{"REDIS_URL=redis://h:1 REDIS_TLS=true", `REDIS_TLS="true"; accepted: a REDIS_URL that begins with rediss://`},
		{"REDIS_URL=/run/redis.sock REDIS_TLS=true", `REDIS_TLS="true"; accepted: REDIS_SOCKET_TYPE=tcp with it`},
		{"REDIS_URL=x REDIS_SOCKET_TYPE=udp", `REDIS_SOCKET_TYPE="udp"; accepted: tcp, unix`},
		{"REDIS_URL=x REDIS_TYPE=sentinel", `REDIS_URL="x"; accepted: the name of the primary and the Sentinels, joined by commas`},
		{"GRPC_SERVER_USE_TLS=true", `GRPC_SERVER_USE_TLS="true"; accepted: false, or true with files in GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY`},
		{"LOG_FORMAT=xml", `LOG_FORMAT="xml"; accepted: text, json`},
		{"BACKEND_TYPE=memcache", `BACKEND_TYPE="memcache": only redis is supported; without REDIS_URL counters are in memory`},
	} {
		if _, err := environment(strings.Fields(c[0])...); err == nil || err.Error() != c[1] {
			t.Errorf("%s: %v\nwant %s", c[0], err, c[1])
		}
	}
}

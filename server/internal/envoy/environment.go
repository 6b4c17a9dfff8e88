package envoy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Environment holds the settings from those environment variables of envoyproxy/ratelimit that change its answers.
type Environment struct {
	// MaxAge and MaxAgeGrace bound the lifetime of a gRPC connection. They are 0 if their variables are not set.
	MaxAge, MaxAgeGrace time.Duration
	Options             Options
}

// instead lists the variables whose effect would be lost: addresses, files, the store, and behaviour that is not
// supported. They are errors unless the flag is set, or the value is one of those without effect. All other variables
// are ignored: statsd and Prometheus, the debug port, pools and pipelines of Redis, memcached, xDS, tracing, the local
// cache and jitter.
var instead = []struct {
	names    []string
	flag     string   // "" if there is none
	harmless []string // values without effect
	use      string
}{
	{[]string{"HOST", "PORT"}, "http", nil, "--http HOST:PORT"},
	{[]string{"GRPC_HOST", "GRPC_PORT", "GRPC_UDS"}, "grpc", nil, "--grpc HOST:PORT, or --grpc unix:PATH"},
	{[]string{"GRPC_SERVER_USE_TLS"}, "tls-cert", off, "--tls-cert, --tls-key and --tls-client-ca"},
	{[]string{"GRPC_CLIENT_TLS_SAN"}, "", nil, "--tls-client-ca with a CA that signs only these clients"},
	{[]string{"RUNTIME_ROOT", "RUNTIME_SUBDIRECTORY", "RUNTIME_APPDIRECTORY"}, "envoy-config", nil, "--envoy-config with the three joined"},
	{[]string{"REDIS_URL"}, "store", nil, "--store URL"},
	{[]string{"LOG_LEVEL"}, "log-level", nil, "--log-level"},
	{[]string{"LOG_FORMAT"}, "log-format", nil, "--log-format"},
	{[]string{"CONFIG_TYPE"}, "", []string{"file"}, "files: configuration over xDS is not supported"},
	{[]string{"BACKEND_TYPE"}, "", []string{"redis"}, "--store with a Redis, or memory"},
	{[]string{"REDIS_PERSECOND"}, "", off, "one Redis, which has all counters"},
	{[]string{"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION"}, "", off, "--store with server_name: the name in the certificate is always verified"},
	{[]string{"REDIS_SENTINEL_AUTH"}, "", nil, "--store with sentinel_password_file"},
	{[]string{"CACHE_KEY_PREFIX"}, "", nil, "--store with prefix, which is the prefix of all keys"},
	{[]string{"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT"}, "envoy-semantics", off, "--envoy-semantics improved, which counts no denied hit and charges all descriptors or none"},
}

var off = []string{"false", "0", "f"}

// ReadEnvironment reads the variables with a function such as [os.LookupEnv]. The function given reports whether a
// flag is set. The error names each variable that is invalid, or whose effect would be lost. It contains no values of
// the latter, because some are secrets.
func ReadEnvironment(lookup func(string) (string, bool), given func(flag string) bool) (*Environment, error) {
	r := &variables{lookup: lookup}
	e := &Environment{MaxAge: r.duration("GRPC_MAX_CONNECTION_AGE"), MaxAgeGrace: r.duration("GRPC_MAX_CONNECTION_AGE_GRACE")}
	o := &e.Options
	o.MergeDomains = r.flag("MERGE_DOMAIN_CONFIG")
	o.Shadow, o.Quota = r.flag("SHADOW_MODE"), r.flag("QUOTA_MODE")
	o.DynamicMetadata = r.flag("RESPONSE_DYNAMIC_METADATA")
	o.NeedDomain = r.flag("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED")
	o.Headers = Headers{
		Enabled:   r.flag("LIMIT_RESPONSE_HEADERS_ENABLED"),
		Limit:     cmp.Or(r.text("LIMIT_LIMIT_HEADER"), DefaultHeaders.Limit),
		Remaining: cmp.Or(r.text("LIMIT_REMAINING_HEADER"), DefaultHeaders.Remaining),
		Reset:     cmp.Or(r.text("LIMIT_RESET_HEADER"), DefaultHeaders.Reset),
	}
	for _, v := range instead {
		for _, name := range v.names {
			if value := r.text(name); value != "" && !slices.Contains(v.harmless, strings.ToLower(value)) && (v.flag == "" || !given(v.flag)) {
				r.errs = append(r.errs, fmt.Errorf("%s is set; accepted: %s", name, v.use))
			}
		}
	}
	return e, errors.Join(r.errs...)
}

// variables reads variables and collects errors.
type variables struct {
	lookup func(string) (string, bool)
	errs   []error
}

func (r *variables) fail(name, value, accepted string) {
	r.errs = append(r.errs, fmt.Errorf("%s=%q; accepted: %s", name, value, accepted))
}

func (r *variables) text(name string) string {
	value, _ := r.lookup(name)
	return value
}

func (r *variables) flag(name string) bool {
	text := r.text(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.fail(name, text, "true, false")
	}
	return value
}

func (r *variables) duration(name string) time.Duration {
	text := r.text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.fail(name, text, "a duration such as 24h")
	}
	return d
}

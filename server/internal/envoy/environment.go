package envoy

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/redisstore/redisurl"
)

// Environment holds the settings from envoyproxy/ratelimit's environment variables. The field for an unset variable
// is empty.
type Environment struct {
	// HTTP and GRPC are addresses. Directory is the configuration's directory.
	HTTP, GRPC, Directory string
	// Store is the URL of a Redis server.
	Store string
	// TLSCert, TLSKey and TLSClientCA name the files for gRPC over TLS, or are "".
	TLSCert, TLSKey, TLSClientCA string
	LogLevel, LogFormat          string
	// MaxAge and MaxAgeGrace bound the lifetime of a gRPC connection.
	MaxAge, MaxAgeGrace time.Duration
	Options             Options
}

// ReadEnvironment reads the variables with a function such as [os.LookupEnv]. The defaults are Headgate's and not
// envoyproxy/ratelimit's: the server listens on loopback, and keeps its counters in memory unless REDIS_URL is set.
// The error names each variable that is invalid, or whose effect would be lost. Variables of pools, of statsd and of
// other parts that are not here have no effect.
func ReadEnvironment(lookup func(string) (string, bool)) (*Environment, error) {
	e := &Environment{Options: Options{Headers: DefaultHeaders}}
	r := &variables{lookup: lookup}
	e.addresses(r)
	e.redis(r)
	e.options(r)
	for _, v := range unsupported {
		if value, ok := lookup(v.name); ok && value != "" && !slices.Contains(v.harmless, strings.ToLower(value)) {
			r.errs = append(r.errs, fmt.Errorf("%s=%q: %s", v.name, value, v.why))
		}
	}
	return e, errors.Join(r.errs...)
}

// unsupported lists variables that would change the server's behaviour but are not implemented. Setting one causes an
// error, unless its value is in harmless.
var unsupported = []struct {
	name     string
	harmless []string // values without effect
	why      string
}{
	{"GRPC_CLIENT_TLS_SAN", nil, "a client's certificate is verified by GRPC_CLIENT_TLS_CACERT, and its name is not"},
	{"CONFIG_TYPE", []string{"file"}, "only FILE is supported: configuration over xDS is not"},
	{"BACKEND_TYPE", []string{"redis"}, "only redis is supported; without REDIS_URL counters are in memory"},
	{"REDIS_PERSECOND", []string{"false", "0", "f"}, "a second Redis for limits per second is not supported: one Redis has all counters"},
	{"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION", []string{"false", "0", "f"}, "the name in the certificate is always verified; a store URL can set server_name"},
	{"REDIS_SENTINEL_AUTH", nil, "use --store with sentinel_password_file"},
	{"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT", []string{"false", "0", "f"}, "use --envoy-semantics improved, which counts no denied hit and charges all descriptors or none"},
	{"CACHE_KEY_PREFIX", nil, "use --store with ?prefix=, which is the prefix of all keys"},
}

func (e *Environment) addresses(r *variables) {
	if host, port := r.text("HOST"), r.port("PORT"); host != "" || port != "" {
		e.HTTP = net.JoinHostPort(or(host, "0.0.0.0"), or(port, "8080"))
	}
	if host, port := r.text("GRPC_HOST"), r.port("GRPC_PORT"); host != "" || port != "" {
		e.GRPC = net.JoinHostPort(or(host, "0.0.0.0"), or(port, "8081"))
	}
	if socket := r.text("GRPC_UDS"); socket != "" {
		e.GRPC = "unix:" + socket
	}
	root, under, app := r.text("RUNTIME_ROOT"), r.text("RUNTIME_SUBDIRECTORY"), r.text("RUNTIME_APPDIRECTORY")
	if root != "" || under != "" || app != "" {
		e.Directory = filepath.Join(or(root, "/srv/runtime_data/current"), under, or(app, "config"))
	}
	if r.flag("GRPC_SERVER_USE_TLS") {
		e.TLSCert, e.TLSKey, e.TLSClientCA = r.text("GRPC_SERVER_TLS_CERT"), r.text("GRPC_SERVER_TLS_KEY"), r.text("GRPC_CLIENT_TLS_CACERT")
		if e.TLSCert == "" || e.TLSKey == "" {
			r.fail("GRPC_SERVER_USE_TLS", "true", "false, or true with files in GRPC_SERVER_TLS_CERT and GRPC_SERVER_TLS_KEY")
		}
	}
	e.MaxAge, e.MaxAgeGrace = r.duration("GRPC_MAX_CONNECTION_AGE"), r.duration("GRPC_MAX_CONNECTION_AGE_GRACE")
	if format := strings.ToLower(r.text("LOG_FORMAT")); format != "" {
		if e.LogFormat = format; format != "text" && format != "json" {
			r.fail("LOG_FORMAT", format, "text, json")
		}
	}
	if level := strings.ToLower(r.text("LOG_LEVEL")); level != "" {
		levels := map[string]string{"trace": "debug", "debug": "debug", "info": "info", "warn": "warn", "warning": "warn", "error": "error", "fatal": "error", "panic": "error"}
		if e.LogLevel = levels[level]; e.LogLevel == "" {
			r.fail("LOG_LEVEL", level, "trace, debug, info, warn, error, fatal, panic")
		}
	}
}

// redis builds the store's URL.
func (e *Environment) redis(r *variables) {
	address := r.text("REDIS_URL")
	if address == "" {
		return
	}
	secure := ""
	if r.flag("REDIS_TLS") {
		secure = "s"
	}
	user := ""
	if auth := r.text("REDIS_AUTH"); auth != "" {
		name, password, both := strings.Cut(auth, ":")
		if !both {
			name, password = "", auth
		}
		user = url.QueryEscape(name) + ":" + url.QueryEscape(password) + "@"
		user = strings.ReplaceAll(user, "+", "%20")
	}
	switch kind := strings.ToLower(or(r.text("REDIS_TYPE"), "single")); kind {
	case "single":
		switch network := or(r.text("REDIS_SOCKET_TYPE"), "unix"); {
		case strings.Contains(address, "://"):
			e.Store = address
			if user != "" {
				r.fail("REDIS_AUTH", "a password", "none next to a REDIS_URL with ://, which contains the password")
			}
			if a, err := redisurl.Parse(address); err == nil && secure != "" && !a.TLS {
				r.fail("REDIS_TLS", "true", "a REDIS_URL that begins with rediss://")
			}
		case network == "tcp":
			e.Store = "redis" + secure + "://" + user + address
		case network == "unix" && secure != "":
			r.fail("REDIS_TLS", "true", "REDIS_SOCKET_TYPE=tcp with it")
		case network == "unix":
			e.Store = "unix://" + user + address
		default:
			r.fail("REDIS_SOCKET_TYPE", network, "tcp, unix")
		}
	case "cluster":
		e.Store = "redis" + secure + "+cluster://" + user + address
	case "sentinel":
		master, hosts, ok := strings.Cut(address, ",")
		if !ok {
			r.fail("REDIS_URL", address, "the name of the primary and the Sentinels, joined by commas")
		}
		e.Store = "redis" + secure + "+sentinel://" + user + hosts + "/" + master
	default:
		r.fail("REDIS_TYPE", kind, "SINGLE, SENTINEL, CLUSTER")
	}
	e.certificates(r, secure != "")
}

// certificates adds the TLS files to the URL. Without TLS it ignores them.
func (e *Environment) certificates(r *variables, secure bool) {
	query := url.Values{}
	for name, option := range map[string]string{"REDIS_TLS_CACERT": "ca_file", "REDIS_TLS_CLIENT_CERT": "cert_file", "REDIS_TLS_CLIENT_KEY": "key_file"} {
		if file := r.text(name); file != "" && secure {
			query.Set(option, file)
		}
	}
	if len(query) > 0 {
		separator := "?"
		if strings.Contains(e.Store, "?") {
			separator = "&"
		}
		e.Store += separator + query.Encode()
	}
}

func (e *Environment) options(r *variables) {
	o := &e.Options
	o.MergeDomains = r.flag("MERGE_DOMAIN_CONFIG")
	o.Shadow, o.Quota = r.flag("SHADOW_MODE"), r.flag("QUOTA_MODE")
	o.DynamicMetadata = r.flag("RESPONSE_DYNAMIC_METADATA")
	o.NeedDomain = r.flag("HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED")
	o.Headers.Enabled = r.flag("LIMIT_RESPONSE_HEADERS_ENABLED")
	o.Headers.Limit = or(r.text("LIMIT_LIMIT_HEADER"), o.Headers.Limit)
	o.Headers.Remaining = or(r.text("LIMIT_REMAINING_HEADER"), o.Headers.Remaining)
	o.Headers.Reset = or(r.text("LIMIT_RESET_HEADER"), o.Headers.Reset)
	if text := r.text("NEAR_LIMIT_RATIO"); text != "" {
		ratio, err := strconv.ParseFloat(text, 32)
		if err != nil || !(ratio > 0 && ratio <= 1) {
			r.fail("NEAR_LIMIT_RATIO", text, "more than 0, up to 1")
		}
		o.NearLimitRatio = float32(ratio)
	}
}

func or(value, other string) string {
	if value == "" {
		return other
	}
	return value
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

// port returns a port number, or "" if the variable is not set.
func (r *variables) port(name string) string {
	text := r.text(name)
	if _, err := strconv.ParseUint(text, 10, 16); err != nil && text != "" {
		r.fail(name, text, "the number of a port, 0 to 65535")
	}
	return text
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

package envoy

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

// meaningless lists variables that can be ignored. The reason names the replacement, if there is one.
var meaningless = []struct {
	names []string
	why   string
}{
	{[]string{"DEBUG_HOST", "DEBUG_PORT"}, "--admin has profiles and the configuration"},
	{
		[]string{"RUNTIME_WATCH_ROOT", "RUNTIME_IGNOREDOTFILES"},
		"the directory is always watched, links included, and names that begin with a dot are never read",
	},
	{
		[]string{"USE_STATSD", "USE_DOG_STATSD", "USE_DOG_STATSD_MOGRIFIERS", "STATSD_HOST", "STATSD_PORT", "EXTRA_TAGS", "STATS_FLUSH_INTERVAL", "DISABLE_STATS"},
		"statistics are not sent to statsd",
	},
	{
		[]string{"USE_PROMETHEUS", "PROMETHEUS_ADDR", "PROMETHEUS_PATH", "PROMETHEUS_MAPPER_YAML", "PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS"},
		"--admin and --envoy-metrics expose statistics to Prometheus under the same names",
	},
	{[]string{"FORCE_START_WITHOUT_INITIAL_CONFIG"}, "a server always starts, and waits for a configuration without an error"},
	{[]string{"LOCAL_CACHE_SIZE_IN_BYTES"}, "every hit is counted in the store"},
	{[]string{"EXPIRATION_JITTER_MAX_SECONDS"}, "a counter expires with its window"},
	{
		[]string{
			"REDIS_POOL_SIZE", "REDIS_PIPELINE_WINDOW", "REDIS_PIPELINE_LIMIT", "REDIS_POOL_ON_EMPTY_BEHAVIOR", "REDIS_CLUSTER_PIPELINE_PARALLELISM",
		},
		"calls that come while others are in flight leave together; there is no pool to size",
	},
	{[]string{"REDIS_TIMEOUT"}, "--grpc-deadline bounds a decision"},
	{[]string{"REDIS_HEALTH_CHECK_ACTIVE_CONNECTION"}, "/healthcheck depends on the store with --ready-needs-store"},
	{
		[]string{"REDIS_STARTUP_INITIAL_INTERVAL", "REDIS_STARTUP_MAX_INTERVAL", "REDIS_STARTUP_MAX_ELAPSED_TIME"},
		"the server starts without its Redis, and connects when it answers",
	},
	{
		[]string{
			"REDIS_PERSECOND_SOCKET_TYPE", "REDIS_PERSECOND_TYPE", "REDIS_PERSECOND_URL", "REDIS_PERSECOND_POOL_SIZE", "REDIS_PERSECOND_AUTH",
			"REDIS_PERSECOND_TLS", "REDIS_PERSECOND_PIPELINE_WINDOW", "REDIS_PERSECOND_PIPELINE_LIMIT", "REDIS_PERSECOND_TIMEOUT",
			"REDIS_PERSECOND_SENTINEL_AUTH", "REDIS_PERSECOND_POOL_ON_EMPTY_BEHAVIOR", "REDIS_PERSECOND_CLUSTER_PIPELINE_PARALLELISM",
		},
		"one Redis has all counters",
	},
	{
		[]string{
			"CONFIG_GRPC_XDS_NODE_ID", "CONFIG_GRPC_XDS_NODE_METADATA", "CONFIG_GRPC_XDS_SERVER_URL", "CONFIG_GRPC_XDS_SERVER_CONNECT_RETRY_INTERVAL",
			"CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS", "CONFIG_GRPC_XDS_SERVER_USE_TLS", "CONFIG_GRPC_XDS_CLIENT_TLS_CERT",
			"CONFIG_GRPC_XDS_CLIENT_TLS_KEY", "CONFIG_GRPC_XDS_SERVER_TLS_CACERT", "CONFIG_GRPC_XDS_SERVER_TLS_SAN",
			"XDS_CLIENT_BACKOFF_INITIAL_INTERVAL", "XDS_CLIENT_BACKOFF_MAX_INTERVAL", "XDS_CLIENT_BACKOFF_RANDOM_FACTOR",
			"XDS_CLIENT_BACKOFF_JITTER", "XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES",
		},
		"the configuration is in files",
	},
	{
		[]string{
			"MEMCACHE_HOST_PORT", "MEMCACHE_MAX_IDLE_CONNS", "MEMCACHE_SRV", "MEMCACHE_SRV_REFRESH", "MEMCACHE_TLS", "MEMCACHE_TLS_CLIENT_CERT",
			"MEMCACHE_TLS_CLIENT_KEY", "MEMCACHE_TLS_CACERT", "MEMCACHE_TLS_SKIP_HOSTNAME_VERIFICATION",
		},
		"there is no memcached store",
	},
	{
		[]string{
			"TRACING_ENABLED", "TRACING_SERVICE_NAME", "TRACING_SERVICE_NAMESPACE", "TRACING_SERVICE_INSTANCE_ID", "TRACING_EXPORTER_PROTOCOL",
			"TRACING_SAMPLING_RATE",
		},
		"there are no traces",
	},
}

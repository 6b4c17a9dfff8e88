package daemon

import (
	"log/slog"
	"time"

	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/tracing"
)

// Off is the address of a front end that does not listen.
const Off = "off"

// Config configures a Daemon.
type Config struct {
	// RESP and HTTP are the addresses to listen on, or Off.
	RESP, HTTP string
	// RESPIdle closes a RESP connection after this time without a command; 0 never does.
	RESPIdle time.Duration
	// TLS has the certificates of the listeners.
	TLS TLS
	// Users has the files with the users of the listeners.
	Users UsersFiles
	// PeerShare is the percentage of connections, requests in flight and waiting places that one peer may take. 100
	// means no limit, and 0 means 25. Trusted proxies are not limited.
	PeerShare int
	// NoInline refuses limits that come with a request.
	NoInline bool
	// ConfigFile is the path of the policies file, and Base its content; "" and nil without a file. The file is read
	// currentOf when it changes, and by Reload.
	ConfigFile string
	Base       *policy.Config
	// StateFile stores policy changes made at run time. With "" they are stored on Redis, or last as long as the
	// process.
	StateFile string
	// Failure is the failure mode of inline limits.
	Failure policy.Failure
	// AllowWrites lets clients give units back and reset keys.
	AllowWrites bool
	// Store is the URL of the store; "" and "memory" mean the memory of this process.
	Store string
	// Snapshot is the file that preserves the memory store across restarts, written every SnapshotEvery and at the
	// end, or "".
	Snapshot      string
	SnapshotEvery time.Duration
	// StoreOptions are the settings of the store that are not in its URL. Their Deadline, and the URL's, have no
	// effect.
	StoreOptions open.Options
	// Deadline bounds each decision of a store that is not in memory; 0 means no bound. If the caller's context leaves
	// less time, the bound is three quarters of that time.
	Deadline time.Duration
	// ReadyNeedsStore makes the server unready while the store does not answer and a failure mode is deny. By default
	// it stays ready and decides by the failure modes.
	ReadyNeedsStore bool
	// Pressure makes all classes of a policy except the first leave more while the process runs short of CPU time or
	// memory.
	Pressure bool
	// Drain is how long the server still accepts requests after it stops being ready, so that load balancers notice.
	Drain time.Duration
	// GRPC configures Envoy's rate limit service.
	GRPC GRPC
	// Gateway makes the HTTP listener a gateway. If nil, it is the HTTP API.
	Gateway *GatewayConfig
	// Admin is the listener for operators.
	Admin AdminConfig
	// HashKeysFile has the secrets for hashing keys before they reach the store, the log, metrics and traces. With ""
	// keys are not hashed.
	HashKeysFile string
	// Traces sends spans to a collector. Without an endpoint there is no tracing.
	Traces tracing.Config
	// TraceKeys shows keys in spans, in the same form as in the log.
	TraceKeys bool
	// Version is shown in INFO and in the log.
	Version string
	// LogDenied is the number of denied requests logged per second, up to MaxLogDenied. LogKeys logs their whole
	// keys, instead of at most 8 bytes and at most half of each. It also applies to TraceKeys.
	LogDenied int
	LogKeys   bool
	// Logger is the server's log; nil discards it.
	Logger *slog.Logger
}

// remote reports whether the store is not in the memory of this process.
func (c *Config) remote() bool { return c.Store != "" && c.Store != open.Memory }

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
	// RESPIdle closes a connection of RESP after this time without a command; 0 does not.
	RESPIdle time.Duration
	// TLS has the certificates of the listeners.
	TLS TLS
	// Users has the files with the users of the listeners.
	Users UsersFiles
	// PeerShare is the share that one peer has of connections, of requests in flight and of waiting
	// places, in percent; 100 leaves one peer all, and 0 stands for 25. Trusted proxies have no share.
	PeerShare int
	// NoInline refuses limits that come with a request.
	NoInline bool
	// ConfigFile is the path of the policies file, and Base its content; "" and nil are
	// none. The file is read again when it changes, and by Reload.
	ConfigFile string
	Base       *policy.Config
	// StateFile keeps changes of policies that are made while the server runs; "" keeps
	// them on Redis, or for the life of the process.
	StateFile string
	// Failure is the failure mode of inline limits.
	Failure policy.Failure
	// AllowWrites lets clients give units back and reset keys.
	AllowWrites bool
	// Store is the URL of the store; "" and "memory" are the memory of this process.
	Store string
	// Snapshot is the file with which the memory store survives restarts, written every
	// SnapshotEvery and at the end; "" is none.
	Snapshot      string
	SnapshotEvery time.Duration
	// StoreOptions are the settings of the store that are not in the URL. Their Deadline, and
	// that of the URL, have no effect.
	StoreOptions open.Options
	// Deadline bounds each decision of a store that is not in memory; 0 is no bound.
	// If the caller's context leaves less time, the bound is three quarters of that.
	Deadline time.Duration
	// ReadyNeedsStore ends readiness while the store does not answer and a failure mode is
	// deny. By default the server is ready then too: it decides by the failure modes.
	ReadyNeedsStore bool
	// Pressure makes all classes of a policy but the first leave more while the process runs short of CPU time or memory.
	Pressure bool
	// Drain is how long the server still accepts requests after readiness has ended:
	// the time that a load balancer needs to notice.
	Drain time.Duration
	// GRPC is Envoy's rate limit service.
	GRPC GRPC
	// Gateway makes the HTTP listener a gateway; nil is the HTTP API.
	Gateway *GatewayConfig
	// Admin is the listener for operators.
	Admin AdminConfig
	// HashKeysFile has the secrets that keys are hashed with before they reach the store,
	// the log, metrics and traces; "" leaves keys as they are.
	HashKeysFile string
	// Traces sends spans to a collector; without an endpoint nothing is traced.
	Traces tracing.Config
	// TraceKeys shows keys in spans, as the log shows them.
	TraceKeys bool
	// Version is in INFO and in the log.
	Version string
	// LogDenied is how many denied requests are logged in a second, up to MaxLogDenied.
	// LogKeys logs their keys whole, instead of at most half of each and 8 bytes. It holds
	// for TraceKeys too.
	LogDenied int
	LogKeys   bool
	// Logger gets the log of the server; nil discards it.
	Logger *slog.Logger
}

// remote reports whether the store is not in the memory of this process.
func (c *Config) remote() bool { return c.Store != "" && c.Store != open.Memory }

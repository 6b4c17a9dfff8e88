package daemon

import (
	"log/slog"
	"time"

	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/tracing"
)

// Off is the address of a front end that is disabled.
const Off = "off"

// Config configures a Daemon.
type Config struct {
	// RESP and HTTP are the addresses to listen on, or Off.
	RESP, HTTP string
	// RESPIdle is how long a RESP connection may go without a command before it is closed. 0 means no bound.
	RESPIdle time.Duration
	// TLS names the listeners' certificate files.
	TLS TLS
	// Users names the files with the listeners' users.
	Users UsersFiles
	// PeerShare is the percentage of the connections, of the requests in flight and of the waiting requests that may
	// belong to one peer. 100 means no limit, and 0 means 25. Trusted proxies are not limited.
	PeerShare int
	// NoInline rejects requests with inline limits.
	NoInline bool
	// ConfigFile is the path of the policies file, and Base is its content. They are "" and nil if there is no file.
	// The file is read again when it changes, and by Reload.
	ConfigFile string
	Base       *policy.Config
	// StateFile stores policy changes made at run time. If it is "", they are stored on Redis or, with a memory
	// store, last as long as the process.
	StateFile string
	// Failure is the failure mode of inline limits.
	Failure policy.Failure
	// Origins are the origins whose pages can read the gateway's own answers, and the denials of authorize.
	Origins []string
	// AllowWrites lets clients give units back and reset keys.
	AllowWrites bool
	// Store is the URL of the store. "" and "memory" mean the memory of this process.
	Store string
	// Snapshot is the file that preserves the memory store across restarts. It is "" if none exists. The file is
	// written every SnapshotEvery and at the end.
	Snapshot      string
	SnapshotEvery time.Duration
	// StoreOptions holds the store settings that are not in its URL. Deadlines in them, or in the URL, have no
	// effect.
	StoreOptions open.Options
	// Deadline bounds each decision that uses a store outside this process; 0 means no bound. If the caller's context
	// leaves less time, the bound is three quarters of the remaining time.
	Deadline time.Duration
	// ReadyNeedsStore makes the server unready while the store does not answer and some policy's failure mode is
	// deny. By default the server stays ready and decides by the failure modes.
	ReadyNeedsStore bool
	// Drain is how long the server continues to accept requests after it stops being ready, so that load balancers
	// can notice.
	Drain time.Duration
	// GRPC configures Envoy's rate limit service.
	GRPC GRPC
	// Gateway makes the HTTP listener a gateway. If it is nil, the listener serves the HTTP API.
	Gateway *GatewayConfig
	// Admin configures the operators' listener.
	Admin AdminConfig
	// HashKeysFile contains the secrets for hashing keys before they reach the store, the log, metrics and traces. If
	// it is "", keys are not hashed.
	HashKeysFile string
	// Traces configures sending spans to a collector. If it sets no endpoint, there is no tracing.
	Traces tracing.Config
	// TraceKeys shows keys in spans, in the same form as in the log.
	TraceKeys bool
	// Version appears in INFO and in the log.
	Version string
	// LogDenied is the number of denied requests logged per second, up to MaxLogDenied. LogKeys shows their whole
	// keys; otherwise at most 8 bytes and at most half of each key are shown. LogKeys also applies to TraceKeys.
	LogDenied int
	LogKeys   bool
	// Logger receives the server's log. If it is nil, the log is discarded.
	Logger *slog.Logger
}

// remote reports whether the store is outside this process.
func (c *Config) remote() bool { return c.Store != "" && c.Store != open.Memory }

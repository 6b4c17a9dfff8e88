package resp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/internal/peers"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// Config configures a Server. The zero value serves only the connection commands, with the defaults below.
type Config struct {
	// Decisions lists the commands that make decisions. It can be nil.
	Decisions []DecisionCommand

	// Decide decides the requests in order and sets answers[i] to the answer to requests[i]. Both slices have the same
	// length of at least 1, and all answers are zero. Consecutive commands that arrived together are decided in one
	// call. Connections call Decide concurrently. It must return soon after ctx ends, which happens only if Shutdown
	// times out. Headgate's server uses [service.Service.Do].
	Decide func(ctx context.Context, requests []decide.Request, answers []decide.Response)

	// Users lists the clients that may send commands. A client authenticates with AUTH or HELLO, and the context of
	// Decide carries its user. If Users is nil, all clients may send commands.
	Users *users.File
	// WrongSecret is called with the address of a client whose secret does not belong to its user. It can be nil.
	WrongSecret func(client string)
	// Refused is called for each command that is refused before a decision: an unknown one, one that cannot be read,
	// or one of a client that must authenticate. It can be nil.
	Refused func(why service.Refusal)

	// MaxConns is the maximum number of connections. A further connection gets "ERR max number of clients reached"
	// and is closed. 0 means 10000, as in Redis. While at most a tenth of the connections are free, each new one
	// closes the one that has been idle the longest.
	MaxConns int

	// Peers limits one peer's share of MaxConns. The zero value sets no limit.
	Peers peers.Rule

	// IdleTimeout is how long a connection may be idle before it is closed. 0 means forever, as in Redis. In that case
	// TCP keep-alive detects clients that are gone.
	IdleTimeout time.Duration

	// ReadTimeout is how long a command may take to arrive after its first byte, so that an unfinished command does
	// not occupy memory forever. A new client also has this long for its TLS handshake and, if Users require a
	// secret, for sending it. 0 means 30 s.
	ReadTimeout time.Duration

	// WriteTimeout bounds one write of replies. If the client has not read them by then, the connection is closed. 0
	// means 10 s.
	WriteTimeout time.Duration

	// Version is the value of headgate_version in INFO. The default is "devel".
	Version string

	// Logger logs failed accepts at level Warn, and the reasons why connections ended at level Debug. If it is nil,
	// nothing is logged.
	Logger *slog.Logger
}

// withDefaults replaces zero values with defaults. The returned error lists all invalid fields.
func (cfg Config) withDefaults() (Config, error) {
	var errs []error
	if cfg.MaxConns < 0 {
		errs = append(errs, fmt.Errorf("resp: MaxConns is %d, must not be negative", cfg.MaxConns))
	}
	if len(cfg.Decisions) > 0 && cfg.Decide == nil {
		errs = append(errs, errors.New("resp: Decide is nil, must decide what Decisions ask for"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"IdleTimeout", cfg.IdleTimeout}, {"ReadTimeout", cfg.ReadTimeout}, {"WriteTimeout", cfg.WriteTimeout}} {
		if d.value < 0 {
			errs = append(errs, fmt.Errorf("resp: %s is %s, must not be negative", d.name, d.value))
		}
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = 10000
	}
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 30 * time.Second
	}
	if cfg.WriteTimeout == 0 {
		cfg.WriteTimeout = 10 * time.Second
	}
	if cfg.Version == "" {
		cfg.Version = "devel"
	}
	if cfg.Refused == nil {
		cfg.Refused = func(service.Refusal) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg, errors.Join(errs...)
}

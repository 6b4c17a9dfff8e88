package resp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/server/peers"
	"github.com/headgate/headgate/server/users"
)

// Config configures a Server. The zero value serves the connection commands only, with
// the defaults below.
type Config struct {
	// Decisions are the commands that make decisions. It can be nil.
	Decisions []DecisionCommand

	// Decide decides the requests in order and sets answers[i] to the answer to requests[i]. Both have the same length,
	// at least 1, and answers has zero values. Consecutive commands that arrived together are one call. Connections
	// call Decide concurrently. It must return soon after ctx ends, which happens only if Shutdown times out.
	// Headgate's server uses [service.Service.Do].
	Decide func(ctx context.Context, requests []decide.Request, answers []decide.Response)

	// Users are the clients that may call: AUTH and HELLO take a client's secret, and the context of Decide has the
	// user. nil allows all clients.
	Users *users.File
	// WrongSecret is called with the address of a client whose secret does not belong to its user. It can be nil.
	WrongSecret func(client string)

	// OldName is called when a client uses the former name of a command ([DecisionCommand.Was]). It can be nil.
	OldName func(former, now string)

	// MaxConns is the maximum number of connections. A further one gets "ERR max number of clients reached" and is
	// closed. 0 means 10000, as in Redis. While at most a tenth of them are free, each new connection closes the
	// connection that has been idle the longest.
	MaxConns int

	// Peers is the share of MaxConns that one peer may take. The zero value sets no share.
	Peers peers.Rule

	// IdleTimeout closes a connection after this time without a command. 0 means never, as in Redis; TCP keep-alive
	// detects clients that are gone.
	IdleTimeout time.Duration

	// ReadTimeout is how long a command may take to arrive after its first byte, so that an unfinished command does not
	// occupy memory forever. It is also how long a new client has for its TLS handshake and, if Users require one, for
	// sending a secret. 0 means 30 s.
	ReadTimeout time.Duration

	// WriteTimeout bounds one write of replies. The connection is closed if the client has not read them by then. 0
	// means 10 s.
	WriteTimeout time.Duration

	// Version is headgate_version in INFO. Empty means "devel".
	Version string

	// Logger gets failed accepts at level Warn, and the reasons why connections ended at level Debug. nil means no
	// logs.
	Logger *slog.Logger
}

// withDefaults replaces zero values with defaults. The error lists all invalid fields.
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
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg, errors.Join(errs...)
}

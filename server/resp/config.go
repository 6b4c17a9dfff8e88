package resp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/headgate/headgate/server/service"
)

// Config says how a Server behaves. The zero value works: it serves the
// connection commands alone, with the defaults given below.
type Config struct {
	// Decisions are the commands that ask for decisions. Nil: there are none.
	Decisions []Decision

	// Decide sets answers[i] to the answer to requests[i], as if the requests were
	// decided in their order; both have the same length, which is not 0, and answers
	// begins as zero values. Consecutive commands that arrived together come in one
	// call. Connections call it at the same time. It has to return soon after ctx ends,
	// which happens only when Shutdown gives up waiting. It is [service.Service.Do].
	Decide func(ctx context.Context, requests []service.Request, answers []service.Response)

	// MaxConns is the most connections at a time. One more is answered "ERR
	// max number of clients reached" and closed. 0: 10000, as in Redis.
	MaxConns int

	// IdleTimeout closes a connection on which no command has begun for so
	// long. 0: never, as in Redis; TCP keep-alive finds clients that are gone.
	IdleTimeout time.Duration

	// ReadTimeout is how long a command may take to arrive once its first byte
	// has, so that unfinished commands do not hold memory for ever. 0: 30 s.
	ReadTimeout time.Duration

	// WriteTimeout is how long a client may take to accept the replies of one
	// write; a client that does not read is closed after it. 0: 10 s.
	WriteTimeout time.Duration

	// Version is what INFO tells as headgate_version. Empty: "devel".
	Version string

	// Logger receives what operators may want to know: accept failures at
	// level Warn, why connections ended at level Debug. Nil: nothing is logged.
	Logger *slog.Logger
}

// withDefaults returns the configuration with its zero values filled in, or
// everything that is wrong with it.
func (cfg Config) withDefaults() (Config, error) {
	var wrong []error
	if cfg.MaxConns < 0 {
		wrong = append(wrong, fmt.Errorf("resp: MaxConns is %d, must not be negative", cfg.MaxConns))
	}
	if len(cfg.Decisions) > 0 && cfg.Decide == nil {
		wrong = append(wrong, errors.New("resp: Decide is nil, must decide what Decisions ask for"))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"IdleTimeout", cfg.IdleTimeout}, {"ReadTimeout", cfg.ReadTimeout}, {"WriteTimeout", cfg.WriteTimeout}} {
		if d.value < 0 {
			wrong = append(wrong, fmt.Errorf("resp: %s is %s, must not be negative", d.name, d.value))
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
	return cfg, errors.Join(wrong...)
}

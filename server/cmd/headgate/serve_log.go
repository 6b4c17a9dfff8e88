package main

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/grpclog"

	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

// logger returns the server's logger.
func (f *serveFlags) logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	switch f.level {
	case "debug", "info", "warn", "error":
		if err := level.UnmarshalText([]byte(f.level)); err != nil {
			return nil, err
		}
	default:
		return nil, unknownWord("log-level", f.level)
	}
	options := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, unknownWord("log-format", f.format)
	}
}

// captureLibraries sends the logs of libraries to the server's log, in its format: package log, slog's default, and
// gRPC's errors. gRPC's other lines are dropped, because they concern single connections.
func captureLibraries(logger *slog.Logger) {
	slog.SetDefault(logger)
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, slog.NewLogLogger(logger.Handler(), slog.LevelWarn).Writer()))
}

// logged handles err, the reason why the server failed to start or stopped. If the log format is JSON, it logs err
// and returns exitUnusable. Otherwise it returns err.
func (f *serveFlags) logged(w io.Writer, err error) error {
	if f.format != "json" || err == nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(w, nil))
	for _, text := range texts(err) {
		logger.Error("server exits", "error", strings.TrimPrefix(text, "headgate: "))
	}
	return exitUnusable
}

// settings returns the settings from flags, file and environment, for operators. It removes the only secrets that
// flags can contain: the user and password in the store's URL.
func settings(c *cobra.Command, config *daemon.Config) map[string]any {
	all := map[string]any{"version": config.Version}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		switch text := f.Value.String(); {
		case f.Name == "help":
		case slices.Contains([]string{"bool", "int", "int64", "float32", "float64"}, f.Value.Type()):
			all[f.Name] = json.RawMessage(text)
		default:
			all[f.Name] = text
		}
	})
	all["store"], all["store-password-file"] = open.Redacted(config.Store), config.StoreOptions.PasswordFile
	all["resp"], all["http"] = config.RESP, config.HTTP
	return all
}

// perSecond parses a rate such as 10/s, and returns it in units per second, from 0 to [daemon.MaxLogDenied].
func perSecond(text string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "/s"))
	if err == nil && (n < 0 || n > daemon.MaxLogDenied || !strings.HasSuffix(text, "/s")) {
		err = strconv.ErrRange
	}
	return n, err
}

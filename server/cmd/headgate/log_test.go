package main

import (
	"bytes"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/grpclog"
)

// TestLibrariesLogInTheServersFormat checks that log messages from libraries become lines in the server's log, except
// informational messages of gRPC.
func TestLibrariesLogInTheServersFormat(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(os.Stderr)
	})
	var out bytes.Buffer
	captureLibraries(slog.New(slog.NewJSONHandler(&out, nil)))
	log.Print("of log")
	slog.Info("of slog")
	grpclog.Error("of grpc")
	grpclog.Info("of a connection")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{"of log", "of slog", "of grpc"} {
		if !strings.HasPrefix(lines[i], `{"time":"`) || !strings.Contains(lines[i], want) {
			t.Errorf("%s: no %q", lines[i], want)
		}
	}
}

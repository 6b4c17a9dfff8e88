package policies_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/policies"
)

// TestNamedPipeInPlaceOfTheFile checks that a named pipe in place of the file causes an error that names it. Opening
// the pipe used to wait for a writer forever, and so did stopping the process.
func TestNamedPipeInPlaceOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(file, []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.Manager, err = policies.New(context.Background(), policies.Config{
		Base: config, File: file, Apply: s.apply, Logger: slog.New(slog.NewTextHandler(s, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(file+".pipe", 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Rename(file+".pipe", file); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(s.logged(), "not a regular file") {
		t.Errorf("%v\n%s", err, s.logged())
	}
	wants(t, s, "api", "k", "100/s burst 200")
}

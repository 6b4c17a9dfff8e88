package redistest

import (
	_ "embed"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
)

//go:embed testdata/clock.c
var clockSource []byte

// SteppedClock starts a real server whose clock can be set forward and back with [Server.Step].
func SteppedClock(t testing.TB, flavor Flavor, config ...string) *Server {
	t.Helper()
	Need(t, flavor)
	programs.Tool(t, "gcc")
	s := prepare(t, flavor, config...)
	source, library := filepath.Join(s.dir, "clock.c"), filepath.Join(s.dir, "clock.so")
	s.steps = filepath.Join(s.dir, "clock-offset")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.steps, make([]byte, 8), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "gcc", "-O2", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	s.env = []string{"LD_PRELOAD=" + library, "STEPPED_CLOCK=" + s.steps}
	s.Start()
	return s
}

// Step sets the server's clock to the real time plus an offset, which may be negative.
func (s *Server) Step(by time.Duration) {
	s.t.Helper()
	var offset [8]byte
	binary.NativeEndian.PutUint64(offset[:], uint64(by.Microseconds()))
	file, err := os.OpenFile(s.steps, os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(offset[:], 0); err != nil {
		s.t.Fatal(err)
	}
}

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitFile: systemd accepts the unit file, in which only the paths are the test's.
func TestUnitFile(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if os.Getenv("HEADGATE_NEED_SERVERS") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	data, err := os.ReadFile("../../deploy/headgate.service")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "headgate.service", strings.ReplaceAll(string(data), "/usr/local/bin/headgate", binary(t)))
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", filepath.Join(dir, "headgate.service")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

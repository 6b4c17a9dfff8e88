package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/programs"
)

// TestUnitFile checks that systemd accepts the unit file. The test changes only the paths.
func TestUnitFile(t *testing.T) {
	analyze := programs.Tool(t, "systemd-analyze")
	data, err := os.ReadFile("../../deploy/headgate.service")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, "headgate.service", strings.ReplaceAll(string(data), "/usr/local/bin/headgate", programs.Headgate(t)))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", filepath.Join(dir, "headgate.service")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

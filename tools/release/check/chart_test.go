package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestChart checks that the chart has the release's version, and all files of deploy/chart. lab/deploy tests their
// contents. Helm, if it is installed, reads the archive.
func TestChart(t *testing.T) {
	archive := filepath.Join(*folder, "headgate-"+*version+".tgz")
	top := filepath.Join(extract(t, archive), "headgate")
	source := filepath.Join(*root, "deploy", "chart")
	if err := filepath.WalkDir(source, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(source, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			want = []byte(strings.ReplaceAll(string(want), "ersion: 0.0.0\n", "ersion: "+*version+"\n"))
		}
		if got, err := os.ReadFile(filepath.Join(top, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s differs: %v", name, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("helm"); err != nil {
		t.Log("*** helm is not installed: IT DOES NOT READ THE CHART ***")
		return
	}
	if text := run(t, "helm", "template", "headgate", archive); !strings.Contains(text, ":"+*version+"\n") && !strings.Contains(text, ":"+*version+`"`) {
		t.Errorf("no image with the version:\n%s", text)
	}
}

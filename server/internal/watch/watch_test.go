package watch

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is the maximum wait for a report. Events take a tenth of a second.
const patience = 10 * time.Second

// watched runs a watcher on a path until the test ends, and returns its reports.
func watched(t *testing.T, path string) <-chan struct{} {
	t.Helper()
	w, err := Path(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	reports, ended := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(ctx, func() { reports <- struct{}{} })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return reports
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantReport(t *testing.T, reports <-chan struct{}, after string) {
	t.Helper()
	select {
	case <-reports:
	case <-time.After(patience):
		t.Fatalf("no report after %s", after)
	}
}

// wantSilence fails if a report arrives within three times the quiet period.
func wantSilence(t *testing.T, reports <-chan struct{}, after string) {
	t.Helper()
	select {
	case <-reports:
		t.Fatalf("a report after %s", after)
	case <-time.After(3 * quiet):
	}
}

// TestFile checks that writing, replacing, deleting or creating a file is reported as a change, and that changes to
// other files in its directory are not.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "policies.yaml")
	write(t, file, "a")
	reports := watched(t, file)
	write(t, filepath.Join(dir, "neighbour"), "a")
	wantSilence(t, reports, "a write to another file")
	write(t, file, "b")
	wantReport(t, reports, "a write")
	write(t, filepath.Join(dir, "new"), "c")
	must(t, os.Rename(filepath.Join(dir, "new"), file))
	wantReport(t, reports, "a rename")
	must(t, os.Remove(file))
	wantReport(t, reports, "a deletion")
	write(t, file, "d")
	wantReport(t, reports, "a new file of that name")
}

// TestSameSizeAndTime checks that a replaced or overwritten file is reported as a change, even if it has the same
// size and time as before.
func TestSameSizeAndTime(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a file has no other identity here")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "policies.yaml")
	at := time.Unix(1_700_000_000, 0)
	writeAt := func(path, text string) {
		write(t, path, text)
		must(t, os.Chtimes(path, at, at))
	}
	writeAt(file, "100/1s")
	reports := watched(t, file)
	writeAt(filepath.Join(dir, "new"), "200/1s")
	must(t, os.Rename(filepath.Join(dir, "new"), file))
	wantReport(t, reports, "a file of the same size and time in its place")
	writeAt(file, "300/1s")
	wantReport(t, reports, "other content, and the time set back")
}

// TestManyWritesAreOneReport checks that 100 writes in quick succession cause few reports: usually one, and at most 10.
func TestManyWritesAreOneReport(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "")
	reports := watched(t, dir)
	for range 50 {
		write(t, filepath.Join(dir, "a"), strings.Repeat("x", 100))
		write(t, filepath.Join(dir, "b"), strings.Repeat("y", 100))
	}
	wantReport(t, reports, "100 writes")
	// On a busy machine the pause between two writes can be longer than the quiet period.
	for more := 1; ; more++ {
		select {
		case <-reports:
			if more == 10 {
				t.Fatal("100 writes are more than 10 reports")
			}
			continue
		case <-time.After(3 * quiet):
		}
		return
	}
}

// TestConfigMap updates a file as Kubernetes does: it writes new files into a new directory, and renames the link
// ..data. The link of each file leads through ..data.
func TestConfigMap(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		write(t, filepath.Join(dir, name, "policies.yaml"), text)
		must(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", "one")
	file := filepath.Join(dir, "policies.yaml")
	must(t, os.Symlink(filepath.Join("..data", "policies.yaml"), file))
	asFile, asDirectory := watched(t, file), watched(t, dir)
	for _, name := range []string{"..2", "..3"} {
		version(name, "two")
		wantReport(t, asFile, "a swap of the link, for the file")
		wantReport(t, asDirectory, "a swap of the link, for the directory")
		if data, err := os.ReadFile(file); err != nil || string(data) != "two" {
			t.Fatalf("%q, %v", data, err)
		}
	}
}

// TestDirectory checks that new files, files in new subdirectories, and a replaced link to the directory itself are
// reported as changes.
func TestDirectory(t *testing.T) {
	root := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(root, "v1"), 0o700))
	must(t, os.MkdirAll(filepath.Join(root, "v2"), 0o700))
	write(t, filepath.Join(root, "v1", "a.yaml"), "a")
	current := filepath.Join(root, "current")
	must(t, os.Symlink("v1", current))
	reports := watched(t, current)
	write(t, filepath.Join(root, "v1", "b.yaml"), "b")
	wantReport(t, reports, "a new file")
	must(t, os.Mkdir(filepath.Join(root, "v1", "sub"), 0o700))
	wantReport(t, reports, "a new directory")
	write(t, filepath.Join(root, "v1", "sub", "c.yaml"), "c")
	wantReport(t, reports, "a file in the new directory")
	must(t, os.Symlink("v2", filepath.Join(root, "next")))
	must(t, os.Rename(filepath.Join(root, "next"), current))
	wantReport(t, reports, "a swap of the directory")
	write(t, filepath.Join(root, "v2", "d.yaml"), "d")
	wantReport(t, reports, "a file in the directory that the link names now")
}

// TestPathErrors checks that a path that does not exist, or nests too deeply, causes an error that names it.
func TestPathErrors(t *testing.T) {
	deep := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(deep, "1/2/3/4/5/6/7/8/9"), 0o700))
	for path, want := range map[string]string{filepath.Join(deep, "absent"): "no such file", deep: "8 deep"} {
		if _, err := Path(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

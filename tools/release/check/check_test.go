// Package check tests the files of a release. tools/scripts/release-test creates the files and runs the tests. If -release is
// not set, the tests are skipped.
//
//	go test ./check -release FOLDER -public-key FILE -v
package check

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var (
	folder    = flag.String("release", "", "the folder with the files of the release")
	publicKey = flag.String("public-key", "", "the file with the public key of its signature")
	version   = flag.String("version", "", "the version, without the v")
	previous  = flag.String("previous", "", "the program of an earlier build, which a package is upgraded from")
	root      = flag.String("source", "../../..", "the root of the repository")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *folder == "" {
		fmt.Println("check: no -release: nothing is tested; make release-test makes one")
		os.Exit(0)
	}
	var err error
	if *root, err = filepath.Abs(*root); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// named returns the path of a file in the release.
func named(format string, args ...any) string {
	return filepath.Join(*folder, fmt.Sprintf(format, args...))
}

// need skips a test with a prominent message if a program is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("*** %s is not installed: %s IS NOT TESTED ***", p, t.Name())
		}
	}
}

// asRoot skips a test that requires root, with a prominent message.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("*** not root: %s IS NOT TESTED ***", t.Name())
	}
}

// run returns the output of a command, which must succeed within two minutes.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command("timeout", append([]string{"120", name}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// extract extracts an archive into a directory and returns its path.
func extract(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if strings.HasSuffix(path, ".zip") {
		extractZip(t, data, to)
		return to
	}
	var reader io.Reader = bytes.NewReader(data)
	if strings.HasSuffix(path, ".gz") || strings.HasSuffix(path, ".tgz") {
		if reader, err = gzip.NewReader(reader); err != nil {
			t.Fatal(err)
		}
	}
	extractTar(t, reader, to)
	return to
}

func extractTar(t *testing.T, reader io.Reader, to string) {
	t.Helper()
	for archive := tar.NewReader(reader); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" {
			t.Errorf("%s is of %d:%d %q, not of root", header.Name, header.Uid, header.Gid, header.Uname)
		}
		if header.Typeflag == tar.TypeReg {
			place(t, to, header.Name, header.FileInfo().Mode(), archive)
		}
	}
}

func extractZip(t *testing.T, data []byte, to string) {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		place(t, to, f.Name, f.Mode(), content)
	}
}

// place writes a file into a directory.
func place(t *testing.T, to, name string, mode os.FileMode, content io.Reader) {
	t.Helper()
	if !filepath.IsLocal(name) {
		t.Fatalf("%s leads out of the archive", name)
	}
	data, err := io.ReadAll(content)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name), data, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

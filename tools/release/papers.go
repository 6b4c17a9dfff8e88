package main

import (
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// papers are a release's files other than the binary.
type papers struct {
	manuals                     []string // paths
	bash, zsh, fish             string
	unit, notices, certificates string
	changelog, changes          string // for deb and rpm
	root                        string // of the repository
}

// papers creates the papers in the work directory and returns their paths.
func (r *release) papers() (*papers, error) {
	folder := filepath.Join(r.work, "papers")
	if err := os.MkdirAll(filepath.Join(folder, "man"), 0o755); err != nil {
		return nil, err
	}
	p := &papers{
		root: r.root, bash: filepath.Join(folder, "headgate.bash"), zsh: filepath.Join(folder, "_headgate"), fish: filepath.Join(folder, "headgate.fish"),
		unit: filepath.Join(folder, "headgate.service"), notices: filepath.Join(folder, "NOTICES"), changelog: filepath.Join(folder, "changelog.Debian.gz"),
		changes: filepath.Join(folder, "changes.yaml"), certificates: filepath.Join(folder, "ca-certificates.crt"),
	}
	for _, each := range []func(*papers) error{r.fromProgram, r.unit, r.notices, r.changelog, writeCertificates} {
		if err := each(p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// fromProgram generates the manual pages and completions, using a build for this machine.
func (r *release) fromProgram(p *papers) error {
	program := filepath.Join(r.work, "headgate-man")
	if err := r.compile(target{runtime.GOOS, runtime.GOARCH}, program, "-tags=man"); err != nil {
		return err
	}
	man := exec.Command(program, "man", filepath.Join(filepath.Dir(p.unit), "man"))
	man.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
	_, err := output(man)
	if err != nil {
		return err
	}
	if p.manuals, err = filepath.Glob(filepath.Join(filepath.Dir(p.unit), "man", "*.1")); err != nil {
		return err
	}
	for shell, path := range map[string]string{"bash": p.bash, "zsh": p.zsh, "fish": p.fish} {
		script, err := output(exec.Command(program, "completion", shell))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unit writes the unit file with the packages' paths, and without the comments about manual installation.
func (r *release) unit(p *papers) error {
	data, err := os.ReadFile(filepath.Join(r.root, "deploy", "headgate.service"))
	if err != nil {
		return err
	}
	_, text, ok := strings.Cut(string(data), "\n[Unit]\n")
	if !ok || !strings.Contains(text, "/usr/local/bin/headgate") {
		return fmt.Errorf("deploy/headgate.service: accepted: a comment, then [Unit], and the program in /usr/local/bin")
	}
	text = "[Unit]\n" + strings.ReplaceAll(text, "/usr/local/bin/headgate", "/usr/bin/headgate")
	return os.WriteFile(p.unit, []byte(text), 0o644)
}

// changelog writes the changelogs that deb and rpm require. They link to the notes.
func (r *release) changelog(p *papers) error {
	note := "Release " + r.version + ": " + homepage + "/releases/tag/v" + r.version
	changes := fmt.Sprintf("- semver: %s-1\n  date: %s\n  packager: %s\n  changes: [{note: %q}]\n", debianVersion(r.version), r.time.Format(time.RFC3339), maintainer, note)
	if err := os.WriteFile(p.changes, []byte(changes), 0o644); err != nil {
		return err
	}
	return writeGzip(p.changelog, fmt.Appendf(nil, "headgate (%s-1) stable; urgency=medium\n\n  * %s\n\n -- %s  %s\n",
		debianVersion(r.version), note, maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 -0700")))
}

// writeCertificates writes the public certificate authorities, for rediss:// and https:// from the image. The
// certificates come from a module instead of the machine, so that builds are reproducible.
func writeCertificates(p *papers) error {
	return write(p.certificates, func(w *os.File) error {
		for root := range bundle.Roots() {
			if root.Constraint != nil {
				continue // PEM cannot express constraints
			}
			if err := pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
				return err
			}
		}
		return nil
	})
}

// archived returns the files in a target's archive, with their names in the archive.
func (p *papers) archived(t target) []file {
	files := []file{
		{"LICENSE", filepath.Join(p.root, "LICENSE"), 0o644},
		{"NOTICES", p.notices, 0o644},
		{"README.md", filepath.Join(p.root, "README.md"), 0o644},
		{"policies.yaml", filepath.Join(p.root, "deploy", "policies.yaml"), 0o644},
	}
	if t.os == "windows" {
		return files
	}
	files = append(files, file{"completions/headgate.bash", p.bash, 0o644}, file{"completions/_headgate", p.zsh, 0o644}, file{"completions/headgate.fish", p.fish, 0o644})
	for _, path := range p.manuals {
		files = append(files, file{"man/" + filepath.Base(path), path, 0o644})
	}
	if t.os == "linux" {
		files = append(files, file{"headgate.service", filepath.Join(p.root, "deploy", "headgate.service"), 0o644})
	}
	return files
}

// writeGzip writes a compressed file with no name or time in the header.
func writeGzip(path string, data []byte) error {
	return write(path, func(w *os.File) error {
		compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := compressed.Write(data); err != nil {
			return err
		}
		return compressed.Close()
	})
}

// packed returns the path of a compressed copy of a file.
func (r *release) packed(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	copied := filepath.Join(r.work, "packed", filepath.Base(path)+".gz")
	if err := os.MkdirAll(filepath.Dir(copied), fs.ModePerm); err != nil {
		return "", err
	}
	return copied, writeGzip(copied, data)
}

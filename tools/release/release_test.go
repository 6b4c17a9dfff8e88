package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// small returns a release in temporary directories. Its program and documents consist of a few words.
func small(t *testing.T, version string) (*release, *papers) {
	t.Helper()
	work, out := t.TempDir(), t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{work: work, out: out, source: &source{root: root, version: version, commit: "47dd1b4", time: time.Unix(1_800_000_000, 0).UTC()}}
	paper := func(name string) string {
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	p := &papers{
		root: root, manuals: []string{paper("headgate.1")}, bash: paper("b"), zsh: paper("z"), fish: paper("f"),
		unit: paper("headgate.service"), notices: paper("NOTICES"), certificates: paper("crt"),
	}
	p.changelog, p.changes = filepath.Join(work, "changelog.gz"), filepath.Join(work, "changes.yaml")
	if err := r.changelog(p); err != nil {
		t.Fatal(err)
	}
	return r, p
}

// TestEqualFiles checks that a release's files do not depend on the directory, or on the times and modes of the
// inputs.
func TestEqualFiles(t *testing.T) {
	build := func() string {
		r, p := small(t, "1.2.3")
		binaries := map[target]string{}
		for _, on := range targets {
			binaries[on] = filepath.Join(r.work, on.String())
			if err := os.WriteFile(binaries[on], []byte("program"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := r.archive(on, binaries[on], p); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.packages(targets[0], binaries[targets[0]], p); err != nil {
			t.Fatal(err)
		}
		if err := r.image(binaries, p); err != nil {
			t.Fatal(err)
		}
		if err := r.chart(); err != nil {
			t.Fatal(err)
		}
		text, err := sums(r.out)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := build()
	time.Sleep(1100 * time.Millisecond) // archives have a time resolution of one second
	if second := build(); first != second || strings.Count(first, "\n") != 10 {
		t.Errorf("the files of two builds:\n%s\n%s", first, second)
	}
}

// TestImageIsValid checks every digest and size in the OCI layout.
func TestImageIsValid(t *testing.T) {
	r, p := small(t, "1.2.3")
	if err := r.image(map[target]string{targets[0]: p.bash, targets[1]: p.zsh}, p); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(r.work, "image"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}

// TestVersionsOfPackages checks that dpkg considers a release candidate older than its release.
func TestVersionsOfPackages(t *testing.T) {
	r, p := small(t, "1.2.3-rc.1")
	if err := r.packages(targets[0], p.bash, p); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"headgate_1.2.3~rc.1-1_amd64.deb", "headgate-1.2.3~rc.1-1.x86_64.rpm"} {
		if _, err := os.Stat(filepath.Join(r.out, name)); err != nil {
			t.Error(err)
		}
	}
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("*** no dpkg-deb: THE VERSION INSIDE IS NOT TESTED ***")
	}
	out, err := exec.Command("dpkg-deb", "--field", filepath.Join(r.out, "headgate_1.2.3~rc.1-1_amd64.deb"), "Version").Output()
	if err != nil || string(out) != "1.2.3~rc.1-1\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestUnitOfPackages checks that the unit contains the program's path in the packages, and omits the manual
// installation steps.
func TestUnitOfPackages(t *testing.T) {
	r, p := small(t, "1.2.3")
	if err := r.unit(p); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(p.unit)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte("[Unit]\n")) || bytes.Contains(data, []byte("/usr/local")) || !bytes.Contains(data, []byte("\nExecStart=/usr/bin/headgate ")) {
		t.Errorf("%s", data)
	}
}

func TestSection(t *testing.T) {
	const changelog = "# Changelog\n\n## Unreleased\n\n### Added\n\n- new\n\n## v0.9.0 - 2026-11-30\n\n### Fixed\n\n- old\n\n## [0.8.0]\n\n- oldest\n"
	for version, want := range map[string]string{
		"Unreleased": "### Added\n\n- new", "0.9.0": "### Fixed\n\n- old", "0.8.0": "- oldest",
	} {
		if got, ok := section(changelog, version); !ok || got != want {
			t.Errorf("%s: %q, %t", version, got, ok)
		}
	}
	for _, version := range []string{"0.9", "0.9.1", ""} {
		if got, ok := section(changelog, version); ok {
			t.Errorf("%s: %q", version, got)
		}
	}
	own, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := section(string(own), "0.9.0"); !ok {
		t.Error("CHANGELOG.md has no section of the next release")
	}
}

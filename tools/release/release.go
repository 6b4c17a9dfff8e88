package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// release creates the files of one release.
type release struct {
	*source
	work string // directory for intermediate files
	out  string // the directory of the release
}

// target is a platform for the binary.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

var targets = []target{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
	{"windows", "amd64"},
	{"windows", "arm64"},
}

// make creates all files except the checksums.
func (r *release) make() error {
	if err := r.notes(); err != nil {
		return err
	}
	p, err := r.papers()
	if err != nil {
		return err
	}
	binaries := map[target]string{}
	for _, t := range targets {
		r.sayf("%s", t)
		if binaries[t], err = r.build(t); err != nil {
			return err
		}
		if err := r.archive(t, binaries[t], p); err != nil {
			return err
		}
		if err := r.sbom(t, binaries[t]); err != nil {
			return err
		}
		if t.os != "linux" {
			continue
		}
		if err := r.packages(t, binaries[t], p); err != nil {
			return err
		}
	}
	r.sayf("image")
	if err := r.image(binaries, p); err != nil {
		return err
	}
	return r.chart()
}

// sayf prints a line about progress to standard error.
func (r *release) sayf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "release: "+format+"\n", args...)
}

// named returns the path of a file in the release.
func (r *release) named(format string, args ...any) string {
	return filepath.Join(r.out, fmt.Sprintf("headgate_%s_", r.version)+fmt.Sprintf(format, args...))
}

// write creates a file with the output of fill. A partial write is an error.
func write(path string, fill func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return f.Close()
}

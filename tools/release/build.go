package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cleared lists the environment variables that could change a binary or break the build.
var cleared = []string{"GOFLAGS", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOFIPS140", "GODEBUG", "GOWORK", "GOOS", "GOARCH", "CGO_ENABLED"}

// build builds the static binary for a target, and returns its path.
func (r *release) build(t target) (string, error) {
	path := filepath.Join(r.work, t.String(), "headgate")
	if t.os == "windows" {
		path += ".exe"
	}
	return path, r.compile(t, path)
}

// compile builds the command with its version. The repository's state is not stamped into the binary, because it is
// different before and after the tag.
func (r *release) compile(t target, path string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.release=v" + r.version, "-o", path}, flags...)
	c := exec.Command("go", append(args, "./cmd/headgate")...)
	c.Dir = filepath.Join(r.root, "server")
	c.Env = append(environment(), "GOOS="+t.os, "GOARCH="+t.arch, "CGO_ENABLED=0")
	_, err := output(c)
	return err
}

// environment returns the process's environment without the variables in cleared.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return slices.Contains(cleared, name)
	})
}

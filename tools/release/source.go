package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// source is the checked-out commit from which a release is built.
type source struct {
	root    string // an absolute path
	version string // without the v
	commit  string
	time    time.Time // of the commit
}

// versions matches semver.org versions without build metadata, because module versions cannot contain any.
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func readSource(root, version string) (*source, error) {
	if !versions.MatchString(version) {
		return nil, fmt.Errorf("-version %q: accepted: a version such as v0.9.0 or v0.9.0-rc.1", version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	changes, err := git(root, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changes != "" {
		first, _, _ := strings.Cut(changes, "\n")
		return nil, fmt.Errorf("the tree differs from its commit (%s); commit or stash the changes", strings.TrimSpace(first))
	}
	line, err := git(root, "log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, at, _ := strings.Cut(line, " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git log: %w", err)
	}
	return &source{root: root, version: strings.TrimPrefix(version, "v"), commit: commit, time: time.Unix(seconds, 0).UTC()}, nil
}

// git returns a git command's output, without the final newline.
func git(root string, args ...string) (string, error) {
	out, err := output(exec.Command("git", append([]string{"-C", root}, args...)...))
	return strings.TrimRight(string(out), "\n"), err
}

// output returns a command's standard output. Its error includes the command's standard error.
func output(c *exec.Cmd) ([]byte, error) {
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, problems.String())
	}
	return out, nil
}

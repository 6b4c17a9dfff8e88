package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// catches maps each mutant to the test that last caught it. That test is tried first, so that most mutants need one
// test instead of a suite.
type catches map[string]suite

// readCatches reads catches.txt. Each line contains a package, a test and a mutant's key, separated by tabs.
func readCatches(path string) (catches, error) {
	c := catches{}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: %q has no three fields between tabs", path, line)
		}
		c[fields[2]] = suite{fields[0], fields[1]}
	}
	return c, nil
}

// write writes the catches in the order of the list, and omits removed mutants.
func (c catches) write(path string, mutants []mutant) error {
	var out strings.Builder
	for i := range mutants {
		if s, ok := c[mutants[i].key()]; ok {
			fmt.Fprintf(&out, "%s\t%s\t%s\n", s.pkg, s.tests, mutants[i].key())
		}
	}
	return os.WriteFile(path, []byte(out.String()), 0o644) //nolint:gosec // part of the repository
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is one planted mistake.
type mutant struct {
	line   int    // in mutants.txt
	file   string // that it is planted in
	old    string // text that stands exactly once in the file
	new    string // what takes its place
	breaks string // what it breaks
}

func (m mutant) place() string { return fmt.Sprintf("%s %q → %q", m.file, m.old, m.new) }

// read reads the list: a line for each, of four fields between bars. Lines that
// are empty or begin with # say something to the reader.
func read(path string) ([]mutant, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var mutants []mutant
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, " ¦ ")
		if len(fields) != 4 {
			return nil, fmt.Errorf("mutants.txt:%d: %d fields between ¦ instead of 4", i+1, len(fields))
		}
		mutants = append(mutants, mutant{line: i + 1, file: fields[0], old: fields[1], new: fields[2], breaks: fields[3]})
	}
	return mutants, nil
}

// plant writes the changed file and an overlay that puts it in place of the
// original.
func (m mutant) plant(root, dir string) (overlay string, err error) {
	original, err := filepath.Abs(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), m.old); n != 1 {
		return "", fmt.Errorf("mutants.txt:%s: %q stands %d times in %s", strconv.Itoa(m.line), m.old, n, m.file)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	changed := filepath.Join(dir, filepath.Base(m.file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(data), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, replace, 0o600)
}

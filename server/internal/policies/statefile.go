package policies

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/headgate/headgate/policy/files"
)

// stateFormat is the format of a state file. Files in a later format are rejected.
const stateFormat = 1

// maxStateBytes bounds the state file, which holds at most [MaxChanges] changes.
const maxStateBytes = 1 << 30

// state is the content of a state file.
type state struct {
	Format  int      `json:"format"`
	Changes []Change `json:"changes"`
}

// OpenStateFile returns a store in a file, so that changes survive a restart. Each write replaces the file
// atomically, with a file that only its owner can read. The file does not have to exist. Two processes must not use
// the same file.
func OpenStateFile(path string) (Store, error) {
	m := &memory{changes: map[name]Change{}, changed: true}
	m.keep = func(changes []Change) error { return writeState(path, changes) }
	changes, err := readState(path)
	if err != nil {
		return nil, err
	}
	if len(changes) > MaxChanges {
		return nil, fmt.Errorf("--state-file %s: %d changes; accepted: up to %d", path, len(changes), MaxChanges)
	}
	for _, c := range changes {
		m.changes[c.name()] = c
		m.version = max(m.version, c.Version)
	}
	// Fail at the start, and not at the first change, if the file cannot be written.
	if err := writeState(path, sorted(m.changes)); err != nil {
		return nil, err
	}
	return m, nil
}

func readState(path string) ([]Change, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--state-file: %w", err)
	}
	if info.Size() > maxStateBytes {
		return nil, fmt.Errorf("--state-file %s: %d bytes; accepted: up to %d", path, info.Size(), maxStateBytes)
	}
	data, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("--state-file: %w", err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("--state-file %s: empty; accepted: what a server has written, or no file", path)
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("--state-file %s: %w", path, err)
	}
	if s.Format != stateFormat {
		return nil, fmt.Errorf("--state-file %s: format %d; accepted: %d", path, s.Format, stateFormat)
	}
	return s.Changes, nil
}

// writeState replaces the file atomically.
func writeState(path string, changes []Change) error {
	data, err := json.MarshalIndent(state{Format: stateFormat, Changes: changes}, "", "  ")
	if err != nil {
		return fmt.Errorf("--state-file %s: %w", path, err)
	}
	err = files.Replace(path, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("--state-file: %w", err)
	}
	return nil
}

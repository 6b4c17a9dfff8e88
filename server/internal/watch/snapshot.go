package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxEntries is the maximum number of files and directories in one watched directory.
	maxEntries = 20_000
	// maxDepth is the maximum depth of subdirectories in a watched directory.
	maxDepth = 8
)

var errTooMany = errors.New("more than 20000 files, or directories nested more than 8 deep")

// snapshot is the state of the paths at one instant.
type snapshot struct {
	// files is a hash of the name, size, time and identity of each file.
	files [sha256.Size]byte
	// directories lists the directories whose events reveal changes to the files.
	directories []string
}

// take returns a snapshot of the files and directories at paths.
func take(paths []string) (snapshot, error) {
	t := taker{sum: sha256.New(), seen: map[string]bool{}}
	for _, path := range paths {
		// The parent directory is watched because path itself can be replaced, for example by an editor that renames
		// a new file, or by changing a link.
		t.watch(filepath.Dir(path))
		if err := t.visit(path, 0); err != nil {
			return snapshot{}, err
		}
	}
	s := snapshot{directories: t.directories}
	t.sum.Sum(s.files[:0])
	return s, nil
}

type taker struct {
	sum         hash.Hash
	directories []string
	seen        map[string]bool
	entries     int
}

func (t *taker) watch(directory string) {
	if !t.seen[directory] {
		t.seen[directory] = true
		t.directories = append(t.directories, directory)
	}
}

// visit adds a file, or a directory with its contents. Below the path itself it skips names that begin with a dot,
// because editors and ConfigMaps keep their own files there.
func (t *taker) visit(path string, depth int) error {
	if t.entries++; t.entries > maxEntries || depth > maxDepth {
		return errTooMany
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.sum, "%q %q %d %d %s %s\n", path, real, info.Size(), info.ModTime().UnixNano(), info.Mode(), identity(info))
	if !info.IsDir() {
		t.watch(filepath.Dir(real))
		return nil
	}
	t.watch(path)
	t.watch(real)
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		err := t.visit(filepath.Join(path, e.Name()), depth+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a file deleted in the meantime, or a dangling link
			return err
		}
	}
	return nil
}

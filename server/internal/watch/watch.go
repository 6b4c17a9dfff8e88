// Package watch reports changes to files or directories, so that a server can reload its configuration.
//
// It follows symbolic links, including replaced ones: Kubernetes updates a ConfigMap's files by renaming the link
// ..data.
//
//	watcher, err := watch.Path("/etc/headgate/policies.yaml")
//	load()                       // from here on, no change is missed
//	go watcher.Run(ctx, load)
package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is how long the files must stay unchanged before a change is reported. An editor, or a copy of many
	// files, changes a directory in several steps.
	quiet = 100 * time.Millisecond
	// longest is the maximum time from a change to its report, even if the files keep changing.
	longest = time.Second
	// pollEvery is the interval between comparisons of the files without an event. Network file systems send no
	// events for changes by other machines.
	pollEvery = 5 * time.Second
)

// Watcher watches files, or directories with their subdirectories.
type Watcher struct {
	paths  []string
	events *fsnotify.Watcher
	last   snapshot
}

// Path starts watching files or directories, which must exist. Afterwards call Run, which also reports the changes
// since Path and frees the watcher at the end, or call Close.
func Path(names ...string) (*Watcher, error) {
	var paths []string
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, fmt.Errorf("watch: %w", err)
		}
		paths = append(paths, path)
	}
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", strings.Join(names, ", "), err)
	}
	w := &Watcher{paths: paths, events: events}
	// The directories are watched before the files are read: a change in between causes an event, and the next
	// snapshot includes it.
	first, err := take(paths)
	if err == nil {
		err = w.follow(first.directories)
	}
	if err == nil {
		w.last, err = take(paths)
	}
	if err != nil {
		_ = events.Close()
		return nil, fmt.Errorf("watch %s: %w", strings.Join(names, ", "), err)
	}
	return w, nil
}

// Run calls the function changed after each change, until ctx ends. It reports changes in quick succession once: after
// 100 ms without a change, and at most 1 s after the first. Run waits until the function has returned before it calls
// it again.
//
// If a path disappears, Run calls the function once, and again when all paths exist again.
func (w *Watcher) Run(ctx context.Context, changed func()) {
	defer func() { _ = w.events.Close() }()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case _, running := <-w.events.Errors: // events were lost, so compare the files
			if !running {
				return
			}
		case <-w.events.Events:
			if !w.settle(ctx) {
				return
			}
		case <-poll.C:
		}
		if w.changed() {
			changed()
		}
	}
}

// settle waits until no event has arrived for the time quiet, but at most for the time longest. It returns false if ctx
// ends or the watcher is closed first.
func (w *Watcher) settle(ctx context.Context) bool {
	latest := time.NewTimer(longest)
	defer latest.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.events.Events:
		case _, running := <-w.events.Errors:
			if !running {
				return false
			}
		case <-time.After(quiet):
			return true
		case <-latest.C:
			return true
		}
	}
}

// changed compares the files with the last snapshot, and watches the directories that now exist.
func (w *Watcher) changed() bool {
	now, err := take(w.paths)
	if err != nil {
		now = snapshot{directories: w.last.directories}
	}
	// The polls detect changes in a directory that cannot be watched.
	_ = w.follow(now.directories)
	same := now.files == w.last.files
	w.last = now
	return !same
}

// follow watches exactly these directories.
func (w *Watcher) follow(directories []string) error {
	wanted := map[string]bool{}
	for _, d := range directories {
		wanted[d] = true
		// Adding a directory again is cheap, and necessary if it was replaced.
		if err := w.events.Add(d); err != nil {
			return err
		}
	}
	for _, d := range w.events.WatchList() {
		if !wanted[d] {
			_ = w.events.Remove(d) // fails if the directory is gone, which has the same effect
		}
	}
	return nil
}

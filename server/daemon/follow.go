package daemon

import (
	"context"
	"errors"
	"sync"

	"github.com/headgate/headgate/internal/errcode"
	"github.com/headgate/headgate/server/internal/watch"
)

// followed is a file, a directory or a group of files that is reloaded when it changes and on SIGHUP.
type followed struct {
	paths []string
	// reload reads the files. On error it logs the error and keeps the previous content.
	reload func(ctx context.Context) error
}

// follow registers files for reloading while the daemon runs.
func (d *Daemon) follow(reload func(ctx context.Context) error, paths ...string) {
	d.files = append(d.files, followed{paths, reload})
}

// logged returns a function that calls reload and logs whether the files have changed, or the error. The argument what
// names the files in the log and in the metrics.
func (d *Daemon) logged(what string, reload func() (changed bool, err error)) func(context.Context) error {
	file := d.admin.file(what)
	return func(context.Context) error {
		changed, err := reload()
		file(err)
		switch {
		case err != nil:
			d.config.Logger.Error("file has errors: the last version read stays in use", "what", what, "error", err, "see", errcode.Link(errcode.InvalidFile))
		case changed:
			d.config.Logger.Info("file reloaded", "what", what)
		}
		return err
	}
}

// Reload reads the followed files again. Files with an error keep their previous content, and the error is logged and
// returned.
func (d *Daemon) Reload(ctx context.Context) (err error) {
	for i := range d.files {
		err = errors.Join(err, d.files[i].reload(ctx))
	}
	if d.config.ConfigFile == "" && d.config.GRPC.EnvoyConfig == "" {
		err = errors.Join(err, d.policies.Reload(ctx)) // returns the error if the file is missing
	}
	return err
}

// followFiles reloads the files when they change, until ctx ends.
func (d *Daemon) followFiles(ctx context.Context, running *sync.WaitGroup) {
	for _, f := range d.files {
		running.Go(func() {
			w, err := watch.Path(f.paths...)
			if err != nil {
				d.config.Logger.Warn("files are re-read only on SIGHUP", "files", f.paths, "error", err)
				return
			}
			reload := func() { _ = f.reload(ctx) } // reload logs its error
			reload()                               // a change since the start
			w.Run(ctx, reload)
		})
	}
}

package daemon

import (
	"context"
	"errors"
	"sync"

	"github.com/headgate/headgate/server/watch"
)

// followed is a file, or files that belong together, read again when they change and at SIGHUP.
type followed struct {
	paths []string
	// reload reads them. It logs its error, and leaves what was read last.
	reload func(ctx context.Context) error
}

// follow has files read again while the daemon runs.
func (d *Daemon) follow(reload func(ctx context.Context) error, paths ...string) {
	d.files = append(d.files, followed{paths, reload})
}

// logged returns a function that reads files again, and logs what came of it.
func (d *Daemon) logged(what string, reload func() (changed bool, err error)) func(context.Context) error {
	return func(context.Context) error {
		changed, err := reload()
		switch {
		case err != nil:
			d.config.Logger.Error("a file has an error; what was read last stays", "what", what, "error", err)
		case changed:
			d.config.Logger.Info("a file was read again", "what", what)
		}
		return err
	}
}

// Reload reads the files that the daemon follows again, and the directory of Envoy's configuration. What
// has an error stays as it was, and the error is logged and returned.
func (d *Daemon) Reload(ctx context.Context) (err error) {
	for i := range d.files {
		err = errors.Join(err, d.files[i].reload(ctx))
	}
	switch envoy := d.grpc != nil && d.grpc.directory != nil; {
	case envoy:
		err = errors.Join(err, d.grpc.directory.Reload())
	case d.config.ConfigFile == "":
		err = errors.Join(err, d.policies.Reload(ctx)) // it says that there is no file
	}
	return err
}

// followFiles reads the files again when they change, until ctx ends.
func (d *Daemon) followFiles(ctx context.Context, running *sync.WaitGroup) {
	for _, f := range d.files {
		running.Go(func() {
			w, err := watch.Path(f.paths...)
			if err != nil {
				d.config.Logger.Warn("a file is read again by SIGHUP only", "files", f.paths, "error", err)
				return
			}
			reload := func() { _ = f.reload(ctx) } // it logs its error
			reload()                               // a change since the start
			w.Run(ctx, reload)
		})
	}
}

package envoy

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/headgate/headgate/server/watch"
)

// Directory is a directory with a configuration that is reloaded when it changes.
type Directory struct {
	service *Service
	path    string
	logger  *slog.Logger
	watcher *watch.Watcher
	loading sync.Mutex // serializes loads, so that the latest files are loaded last
	// Loaded is called after the configuration has been replaced. It can be nil.
	Loaded func()
	// Rejected is called with the error of each reload, which is nil if the configuration was valid. It can be nil.
	Rejected func(error)
}

// Open watches a directory and loads its configuration. If force is set, an invalid configuration is only logged and
// the service starts without one. In that case every request gets an error until the files are fixed. The caller must
// call Run or Close afterwards.
func Open(service *Service, path string, force bool, logger *slog.Logger) (*Directory, error) {
	watcher, err := watch.Path(path)
	if err != nil {
		return nil, err
	}
	d := &Directory{service: service, path: path, logger: logger, watcher: watcher}
	if err := d.load(); err != nil && !force {
		watcher.Close()
		return nil, err
	} else if err != nil {
		logger.Error("rate limit configuration not loaded: every request is an error", "directory", path, "error", err)
	}
	return d, nil
}

// Run loads the directory after each change, until ctx ends. If the configuration is invalid, the previous one stays
// active.
func (d *Directory) Run(ctx context.Context) {
	d.watcher.Run(ctx, func() { _ = d.Reload() })
}

// Reload loads the directory now. On error, which is logged and returned, the previous configuration stays active.
func (d *Directory) Reload() error {
	err := d.load()
	if err != nil {
		d.logger.Error("rate limit configuration not loaded: the last one stays in force", "directory", d.path, "error", err)
	}
	if d.Rejected != nil {
		d.Rejected(err)
	}
	return err
}

func (d *Directory) load() error {
	d.loading.Lock()
	defer d.loading.Unlock()
	files, err := ReadDir(d.path)
	if err != nil {
		d.service.Failed()
		return fmt.Errorf("error loading config file: %w", err)
	}
	c, err := d.service.Load(files)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		d.logger.Warn("rate limit configuration", "warning", w)
	}
	if d.Loaded != nil {
		d.Loaded()
	}
	d.logger.Info("rate limit configuration loaded", "directory", d.path, "files", len(files), "domains", len(c.domains), "rules", len(c.rules))
	return nil
}

// Close frees a directory that is not running.
func (d *Directory) Close() { d.watcher.Close() }

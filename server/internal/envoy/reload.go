package envoy

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// Directory is a directory with the configuration of a service.
type Directory struct {
	service *Service
	path    string
	logger  *slog.Logger

	loading sync.Mutex // serializes loads, so that the latest files are loaded last
	read    [sha256.Size]byte
	err     error // of the files with the hash read
}

// Open loads the configuration in a directory. If force is set, an invalid configuration is only logged and the service
// starts without one. In that case every request gets an error until the files are fixed. A directory that does not
// exist is an error even with force.
func Open(service *Service, path string, force bool, logger *slog.Logger) (*Directory, error) {
	d := &Directory{service: service, path: path, logger: logger}
	if _, err := d.Reload(); err != nil {
		if _, absent := os.Stat(path); absent != nil || !force {
			return nil, err
		}
		logger.Error("rate limit configuration not loaded: every request is an error", "directory", path, "error", err)
	}
	return d, nil
}

// Reload reads the directory again, and reports whether it has changed. On error the previous configuration stays
// active.
func (d *Directory) Reload() (changed bool, err error) {
	d.loading.Lock()
	defer d.loading.Unlock()
	files, err := ReadDir(d.path)
	if err != nil {
		d.service.Failed()
		return false, fmt.Errorf("error loading config file: %w", err)
	}
	if read := sha256.Sum256(fmt.Appendf(nil, "%q", files)); read != d.read {
		d.read, changed = read, true
		d.err = d.load(files)
	}
	return changed, d.err
}

func (d *Directory) load(files []File) error {
	c, err := d.service.Load(files)
	if err != nil {
		return err
	}
	for _, w := range c.Warnings {
		d.logger.Warn("rate limit configuration", "warning", w)
	}
	d.logger.Info("rate limit configuration loaded", "directory", d.path, "files", len(files), "domains", len(c.domains), "rules", len(c.rules))
	return nil
}

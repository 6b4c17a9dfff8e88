package files

import (
	"errors"
	"fmt"
	"os"
)

// errLocked means that another process holds a lock.
var errLocked = errors.New("locked")

// Lock reserves the file at path for this process, until the lock is closed or the process ends, however it ends. It
// locks the file path.lock, which it creates and which stays, because path itself is replaced by each write. On a system
// without such locks it reserves nothing.
func Lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	switch err := tryLock(f); {
	case errors.Is(err, errLocked):
		_ = f.Close()
		return nil, fmt.Errorf("%s: another server uses this file; accepted: a file of its own for each server", path)
	case err != nil:
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return f, nil
}

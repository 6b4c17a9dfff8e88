package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished is the suffix of a file that is being written.
const unfinished = ".new"

// Replace atomically replaces the file at path with the output of write. Readers find either the old or the new
// content, never part of the new content, even after a crash. When Replace has returned, the file is readable only by
// its owner and survives a crash of the machine. After an error the file is unchanged, except that it has the new
// content if only the sync of its directory failed. A crash can leave a file path.new. The next call removes it, so two
// processes must not replace the same file. If path.new is a link or a pipe, the call also removes it, without
// following or opening it.
func Replace(path string, write func(io.Writer) error) (err error) {
	if err = os.Remove(path + unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path+unfinished, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDirectory(filepath.Dir(path))
}

// syncDirectory makes a rename durable, so that it survives a crash of the machine.
func syncDirectory(path string) error {
	d, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

//go:build !unix

package daemon

// openFiles returns manyFiles, because this system does not report the process's limit on open files.
func openFiles() uint64 { return manyFiles }

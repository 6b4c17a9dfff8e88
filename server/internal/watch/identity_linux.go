package watch

import (
	"fmt"
	"io/fs"
	"syscall"
)

// identity distinguishes a file from another with the same size and modification time. It consists of the device, the
// inode number and the ctime, which no program can set.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Dev, stat.Ino, stat.Ctim)
}

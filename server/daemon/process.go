package daemon

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// nameProcess sets this process's name in the group of processes that share the store, unless it is already set.
func (c *Config) nameProcess() {
	if name := &c.StoreOptions.Membership.Name; *name == "" {
		*name = processName(c.Version)
	}
}

// processName returns this server's name in the lists of other servers: the host, the process id, the version, and the
// start time in seconds since 1970.
func processName(version string) string {
	return fmt.Sprintf("%s/%s/%d", serverName(), part(version, 60), time.Now().Unix())
}

// serverName returns the name of this server in answers to operators: the host and the process id.
func serverName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", part(host, 100), os.Getpid())
}

// part returns the first most bytes of s, with hyphens for slashes, because a slash separates the parts of a name.
func part(s string, most int) string { return strings.ReplaceAll(s, "/", "-")[:min(len(s), most)] }

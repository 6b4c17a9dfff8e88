package open_test

import (
	"testing"

	"github.com/headgate/headgate/open"
)

func TestRedactedHidesUserAndPassword(t *testing.T) {
	for address, want := range map[string]string{
		"":                                     "memory",
		"memory":                               "memory",
		"redis://127.0.0.1:6379/1?prefix=a":    "redis://127.0.0.1:6379/1?prefix=a",
		"redis://user:word@127.0.0.1:6379":     "redis://…@127.0.0.1:6379",
		"redis://:w@r/d?@h":                    "redis://…@h",
		"redis+sentinel://u:word@h1,h2/master": "redis+sentinel://…@h1,h2/master",
		"unix:///run/redis.sock?db=1":          "unix:///run/redis.sock?db=1",
	} {
		if got := open.Redacted(address); got != want {
			t.Errorf("Redacted(%q) = %q, want %q", address, got, want)
		}
	}
}

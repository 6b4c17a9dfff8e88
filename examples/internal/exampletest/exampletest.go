// Package exampletest checks a program's output in memory and on Redis.
package exampletest

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
)

// Run is the function of an example that runs its program with the store at a URL, and prints to w.
type Run func(ctx context.Context, w io.Writer, url string) error

// Prints runs the program in memory, and twice on one Redis server. Every run must print the same text.
func Prints(t *testing.T, run Run, want string) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		PrintsOn(t, run, open.Memory, want)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		PrintsOn(t, run, "redis://"+redistest.Standalone(t, redistest.Redis).Addr(), want)
	})
}

// patient returns a URL with a call deadline that even a busy machine can meet.
func patient(url string) string {
	if url == open.Memory {
		return url
	}
	return url + "?deadline=10s"
}

// PrintsOn runs the program twice with the store at a URL, and fails the test if a run does not print want. The second
// run shows that the program does not depend on the state that the first run left.
func PrintsOn(t *testing.T, run Run, url, want string) {
	t.Helper()
	for _, which := range []string{"first", "second"} {
		var printed strings.Builder
		if err := run(t.Context(), &printed, patient(url)); err != nil {
			t.Fatal(err)
		}
		if printed.String() != want {
			t.Errorf("%s run on %s:\n%swant:\n%s", which, url, printed.String(), want)
		}
	}
}

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/adminapi"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// serveForTest runs `headgate serve` until the test ends, and returns the addresses that it prints.
func serveForTest(t *testing.T, args ...string) (addresses []string) {
	t.Helper()
	c := exec.Command("headgate", append([]string{"serve", "--resp", "127.0.0.1:0", "--http", "off", "--drain", "0s"}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	for lines := bufio.NewScanner(out); len(addresses) < 2 && lines.Scan(); {
		addresses = append(addresses, lines.Text()[strings.LastIndex(lines.Text(), " ")+1:])
	}
	if len(addresses) < 2 {
		t.Fatal("the server did not print its addresses")
	}
	return addresses
}

// takes sends one allow for each key, and reads the replies.
func takes(t *testing.T, address string, keys func(yield func(string) bool)) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	sent := 0
	read := make(chan error, 1)
	replies := bufio.NewReader(c)
	done := make(chan int, 1)
	go func() {
		n := 0
		for want := -1; want < 0 || n < want; {
			if _, err := resptest.Read(replies); err != nil {
				read <- err
				return
			}
			n++
			select {
			case want = <-done:
			default:
			}
		}
		read <- nil
	}()
	var buffer []byte
	for key := range keys {
		buffer = resptest.AppendCommand(buffer, "HEADGATE.ALLOW", "api", key)
		if sent++; len(buffer) > 32<<10 {
			if _, err := c.Write(buffer); err != nil {
				t.Fatal(err)
			}
			buffer = buffer[:0]
		}
	}
	done <- sent + 1
	if _, err := c.Write(resptest.AppendCommand(buffer, "PING")); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil && err != io.EOF {
		t.Fatal(err)
	}
}

// TestTopCutsLines checks that lines are cut to the terminal's width.
func TestTopCutsLines(t *testing.T) {
	if got := cutLines("abcé\nabcdé\nab", 4); got != "abcé\nabc…\nab" {
		t.Errorf("%q", got)
	}
}

// TestTopShortensKeys checks that a long key fits on its line with its hash, and that no short key is cut.
func TestTopShortensKeys(t *testing.T) {
	long := strings.Repeat("é", 60) + "a"
	keys := []adminapi.TopKey{
		{Policy: "api", KeyFields: adminapi.NewKey(long), KeyHash: adminapi.KeyHash(long), Count: 12, Least: 10, Most: 12},
		{Policy: "login", KeyFields: adminapi.NewKey("ann"), Count: 1, Least: 1, Most: 1},
	}
	hash := "… (" + adminapi.KeyHash(long) + ")"
	for width, want := range map[int]string{
		1000: long,
		85:   strings.Repeat("é", 41) + hash,
		10:   hash,
	} {
		var text strings.Builder
		writeTop(&text, keys, width)
		lines := strings.Split(text.String(), "\n")
		if len(lines) != 4 || !strings.HasSuffix(lines[1], "api     "+want) || !strings.HasSuffix(lines[2], "login   ann") {
			t.Errorf("width %d:\n%s", width, text.String())
		}
	}
}

// TestTopInATerminal checks that top shows four noisy keys among 100 000 within two seconds in a tmux terminal, and
// that Ctrl-C ends it.
func TestTopInATerminal(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	config := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(config, []byte("policies: {api: 100/h}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	addresses := serveForTest(t, "--config", config, "--admin", "127.0.0.1:0")
	takes(t, addresses[0], func(yield func(string) bool) {
		for i := range 100_000 {
			if !yield(fmt.Sprintf("user-%d", i)) || i%10 == 0 && !yield(fmt.Sprintf("noisy-%d", i/10%4)) {
				return
			}
		}
	})
	began := time.Now()
	headgate, err := exec.LookPath("headgate")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "tmux")
	tmux := func(args ...string) string {
		out, _ := exec.Command("tmux", append([]string{"-S", socket}, args...)...).CombinedOutput()
		return string(out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := exec.CommandContext(ctx, "tmux", "-S", socket, "new-session", "-d", "-x", "100", "-y", "12",
		headgate+" top --by denials --every 200ms --admin "+addresses[1]+"; echo ended; sleep 20")
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v: %s", err, out)
	}
	defer tmux("kill-server")
	waitFor := func(within time.Duration, what string, is func(screen string) bool) {
		t.Helper()
		for {
			screen := tmux("capture-pane", "-p")
			if is(screen) {
				t.Logf("%s after %v", what, time.Since(began))
				return
			}
			if time.Since(began) > within {
				t.Fatalf("not %s after %v:\n%s", what, within, screen)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	waitFor(15*time.Second, "all noisy keys", func(screen string) bool {
		lines := strings.Split(strings.TrimSpace(screen), "\n")
		if len(lines) < 6 || !strings.HasPrefix(lines[0], "denials in ") {
			return false
		}
		first := strings.Join(lines[2:6], "\n")
		return strings.Count(first, "noisy-") == 4
	})
	// The screen is redrawn in place, even after the window is resized.
	tmux("resize-window", "-x", "80", "-y", "5")
	began = time.Now()
	waitFor(5*time.Second, "fewer lines", func(screen string) bool {
		return strings.HasPrefix(screen, "denials in ") && strings.Count(screen, "noisy-") == 2
	})
	tmux("send-keys", "C-c")
	waitFor(5*time.Second, "ended", func(screen string) bool { return strings.Contains(screen, "ended") })
}

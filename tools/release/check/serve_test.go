package check

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// serve runs the unit installed in a root, and sends it six requests to a limit of five.
func serve(t *testing.T, place string) {
	t.Helper()
	if out, err := fromUnit(t, place, "ExecStartPre").CombinedOutput(); err != nil {
		t.Fatalf("the check of the unit: %v\n%s", err, out)
	}
	if got := login(t, place, "/v1/allow", 6); !slices.Equal(got, []int{200, 200, 200, 200, 200, 429}) {
		t.Errorf("login allows 5 requests a minute; statuses of six: %v", got)
	}
}

// login starts the unit, posts requests for the policy login to the path, stops the unit, and returns the statuses.
func login(t *testing.T, place, path string, requests int, flags ...string) (statuses []int) {
	t.Helper()
	flags = append([]string{"--resp", "off", "--http", "127.0.0.1:0", "--drain", "0s"}, flags...)
	server := fromUnit(t, place, "ExecStart", flags...)
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() })
	address := listening(t, log)
	for range requests {
		answer, err := http.Post("http://"+address+path, "application/json", strings.NewReader(`{"policy":"login","key":"joe"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		statuses = append(statuses, answer.StatusCode)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with: %v", err)
	}
	return statuses
}

// fromUnit returns a command from the installed unit. The command runs in the root and as an unprivileged user.
func fromUnit(t *testing.T, place, key string, more ...string) *exec.Cmd {
	t.Helper()
	unit, err := os.ReadFile(filepath.Join(place, "usr/lib/systemd/system/headgate.service"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^` + key + `=(.+)$`).FindSubmatch(unit)
	if line == nil {
		t.Fatalf("the unit has no %s", key)
	}
	words := append(strings.Fields(string(line[1])), more...)
	c := &exec.Cmd{Path: words[0], Args: words, Dir: "/"}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: place, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}, Pdeathsig: syscall.SIGKILL}
	return c
}

// listening returns the HTTP address in a server's log, and continues to read the log.
func listening(t *testing.T, log io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(log)
	var seen strings.Builder
	for lines.Scan() {
		seen.WriteString(lines.Text() + "\n")
		if found := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(lines.Text()); found != "" && strings.Contains(lines.Text(), "http") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return found
		}
	}
	t.Fatalf("the server does not listen:\n%s", seen.String())
	return ""
}

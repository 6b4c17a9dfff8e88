package examples_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/server/daemon"
)

// TestMigrationsPrintTheSame runs the programs to which docs/migrating-from-other-limiters.md links, before and after the
// migration. The module lab requires the other limiters.
func TestMigrationsPrintTheSame(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/migrating-from-other-limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	const (
		httpAnswers = "200 [2] [1]\n200 [2] [0]\n429 [2] [0]\n"
		bucket      = "true\ntrue\ntrue\ntrue\ntrue\nfalse\nfalse\n"
	)
	for folder, want := range map[string]string{
		"xtimerate": bucket,
		"ulule":     httpAnswers,
		"httprate":  "200 false\n200 false\n429 true\n",
		"golimiter": "2 1 true <nil>\n2 0 true <nil>\n2 0 false <nil>\n",
		"redisrate": "1 1 false\n1 0 false\n0 0 true\n",
		"rediscell": "denied 0 limit 2 remaining 1 retry false\ndenied 0 limit 2 remaining 0 retry false\ndenied 1 limit 2 remaining 0 retry true\n",
	} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			programs, err := filepath.Glob("migrating/" + folder + "/*.go")
			if wanted := map[bool]int{true: 1, false: 2}[folder == "rediscell"]; err != nil || len(programs) != wanted {
				t.Fatalf("%d programs, want %d: %v", len(programs), wanted, err)
			}
			for _, name := range programs {
				if !strings.Contains(string(text), "(../examples/"+name+")") {
					t.Errorf("the page has no link to %s", name)
				}
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				program := string(data)
				// Each program gets its own Redis, so that it does not find units spent by another program.
				if strings.Contains(program, `"127.0.0.1:6379"`) {
					program = strings.Replace(program, "127.0.0.1:6379", redistest.Standalone(t, redistest.Redis).Addr(), 1)
				}
				if strings.Contains(program, `"127.0.0.1:6380"`) {
					program = strings.Replace(program, "127.0.0.1:6380", headgateServer(t), 1)
				}
				if got := runProgram(t, program); got != want {
					t.Errorf("%s printed\n%swant\n%s", name, got, want)
				}
			}
		})
	}
}

// runProgram runs a program with the dependencies of the module lab.
func runProgram(t *testing.T, program string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(name, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-ldflags=-s -w", name) // this halves the time for linking
	run.Dir = "../lab"
	var printed, problems strings.Builder
	run.Stdout, run.Stderr = &printed, &problems
	if err := run.Run(); err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	return printed.String()
}

// headgateServer starts an in-memory server and returns its RESP address.
func headgateServer(t *testing.T) string {
	t.Helper()
	server, err := daemon.New(t.Context(), daemon.Config{Store: open.Memory, RESP: "127.0.0.1:0", HTTP: daemon.Off, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Run(ctx, ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
	return server.RESPAddr().String()
}

// A service that limits addresses and users needs no more lines with Headgate than with ulule/limiter.
func TestLinesOfAService(t *testing.T) {
	count := func(folder string) (lines int) {
		for _, name := range []string{"service.go", "service_test.go"} {
			text, err := os.ReadFile(filepath.Join("lines", folder, name))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if line := strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
					lines++
				}
			}
		}
		return lines
	}
	ours, ulule := count("headgate"), count("ulule")
	t.Logf("%d lines with Headgate, %d with ulule/limiter: %.2f", ours, ulule, float64(ours)/float64(ulule))
	if ours > ulule {
		t.Errorf("%d lines, ulule/limiter %d", ours, ulule)
	}
}

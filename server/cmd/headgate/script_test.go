package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"headgate": func() { os.Exit(run()) }})
}

// TestScripts runs the command line as testdata's scripts do.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": start,
		},
	})
}

// start runs `headgate serve` with the arguments, waits until it listens, and
// sets RESP and HTTP to the addresses it got. At the end of the script the
// server is told to stop and must exit with 0.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("start cannot be negated")
	}
	words := append([]string{"serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--drain", "0s"}, args...)
	server := exec.Command("headgate", words...)
	server.Dir = ts.Getenv("WORK")
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(dir + "/headgate"); err == nil {
			server.Path, server.Err = dir+"/headgate", nil
			break
		}
	}
	server.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	out, err := server.StdoutPipe()
	ts.Check(err)
	ts.Check(server.Start())
	ts.Defer(func() {
		ts.Check(server.Process.Signal(syscall.SIGTERM))
		ts.Check(server.Wait())
	})
	lines := bufio.NewScanner(out)
	for _, name := range []string{"RESP", "HTTP"} {
		if !lines.Scan() {
			ts.Fatalf("server did not say where it listens")
		}
		ts.Setenv(name, lines.Text()[strings.LastIndex(lines.Text(), " ")+1:])
	}
}

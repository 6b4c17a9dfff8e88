package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/headgate/headgate/internal/tlstest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"headgate": func() { os.Exit(run()) }})
}

// TestScripts runs the scripts in testdata, which test the command line: a change that denies everybody needs --yes
// (regression: bug 183).
func TestScripts(t *testing.T) { testscript.Run(t, params(t, "testdata")) }

// params returns the parameters for the scripts in a folder.
func params(t *testing.T, folder string) testscript.Params {
	certificates := tlstest.New(t)
	return testscript.Params{
		Dir: folder,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start":    start,
			"gateway":  startGateway,
			"upstream": startUpstream,
			"fetch":    fetch,
			"example":  exampleFile,
			"signal":   signalServer,
			"end":      endServer,
			"log":      waitForLog,
			"page":     writePage,
			"requests": sendRequests,
		},
		Setup: func(env *testscript.Env) error {
			env.Values[serverKey{}] = new(server)
			env.Setenv("CA", certificates.CA)
			env.Setenv("CERT", certificates.Cert)
			env.Setenv("CERTKEY", certificates.Key)
			env.Setenv("GORACE", "atexit_sleep_ms=10") // by default each command sleeps for a second on exit
			return nil
		},
	}
}

// server is the process that a script started with start.
type server struct {
	process *os.Process
	wait    func() error
	log     string // name of the file with its standard error
}

type serverKey struct{}

// start runs `headgate serve` with the arguments, and waits until it listens. It sets RESP and HTTP to the server's
// addresses, GRPC and ADMIN if the server has these listeners, and PID. The log is in server.log. At the end of the
// script the server gets a SIGTERM and must exit with status 0.
func start(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("start cannot be negated")
	}
	startServer(ts, []string{"RESP", "HTTP"}, append([]string{"serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--drain", "0s"}, args...))
}

// startServer runs the server with the arguments, and sets the variables to the addresses that it prints.
func startServer(ts *testscript.TestScript, names, words []string) {
	command := exec.Command("headgate", words...)
	command.Dir = ts.Getenv("WORK")
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(dir + "/headgate"); err == nil {
			command.Path, command.Err = dir+"/headgate", nil
			break
		}
	}
	command.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "GOMEMLIMIT="+ts.Getenv("GOMEMLIMIT"))
	out, err := command.StdoutPipe()
	ts.Check(err)
	running := ts.Value(serverKey{}).(*server)
	running.log = ts.MkAbs("server.log")
	log, err := os.Create(running.log)
	ts.Check(err)
	defer log.Close()
	command.Stderr = log
	ts.Check(command.Start())
	ts.Setenv("PID", strconv.Itoa(command.Process.Pid))
	running.process, running.wait = command.Process, sync.OnceValue(command.Wait)
	ts.Defer(func() {
		if err := command.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) { // the script may already have stopped it
			ts.Check(err)
			ts.Check(running.wait())
		}
	})
	lines := bufio.NewScanner(out)
	for _, more := range []struct{ flag, name string }{{"--grpc", "GRPC"}, {"--admin", "ADMIN"}} {
		if slices.Contains(words, more.flag) {
			names = append(names, more.name)
		}
	}
	for _, name := range names {
		if !lines.Scan() {
			ts.Fatalf("the server did not print its addresses")
		}
		var logged struct{ Address string } // with --log-format json
		if json.Unmarshal(lines.Bytes(), &logged) != nil {
			logged.Address = lines.Text()[strings.LastIndex(lines.Text(), " ")+1:]
		}
		ts.Setenv(name, logged.Address)
	}
}

// signalServer sends the server a signal: signal HUP.
func signalServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || args[0] != "HUP" {
		ts.Fatalf("usage: signal HUP")
	}
	ts.Check(ts.Value(serverKey{}).(*server).process.Signal(syscall.SIGHUP))
}

// endServer stops the server and waits until it has exited: end TERM, or end KILL.
func endServer(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
	if neg || len(args) != 1 || signals[args[0]] == nil {
		ts.Fatalf("usage: end TERM|KILL")
	}
	running := ts.Value(serverKey{}).(*server)
	ts.Check(running.process.Signal(signals[args[0]]))
	if err := running.wait(); args[0] == "TERM" {
		ts.Check(err)
	}
}

// waitForLog waits up to 10 s until a line in the server's log matches a pattern: log PATTERN. With ! it does not wait,
// and fails if a line matches.
func waitForLog(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: log PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	running := ts.Value(serverKey{}).(*server)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		text := ts.ReadFile(running.log)
		switch found := pattern.MatchString(text); {
		case neg && found:
			ts.Fatalf("the log matches %q:\n%s", args[0], text)
		case neg || found:
			return
		case time.Now().After(end):
			ts.Fatalf("the log does not match %q:\n%s", args[0], text)
		}
	}
}

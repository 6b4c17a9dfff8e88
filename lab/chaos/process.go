package chaos

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
)

// patience is the maximum time to wait for a process to start or stop.
const patience = 60 * time.Second

// process is one headgate process. It keeps its ports when it restarts.
type process struct {
	t           testing.TB
	program     string
	http, resp  string
	grpc, admin string
	args        []string
	config, log string
	run         *exec.Cmd
	done        chan struct{}
}

func newProcess(t testing.TB, program, store string) *process {
	t.Helper()
	p := &process{t: t, program: program, config: filepath.Join(t.TempDir(), "policies.yaml")}
	p.log = filepath.Join(filepath.Dir(p.config), "log")
	for _, address := range []*string{&p.http, &p.resp, &p.grpc, &p.admin} {
		*address = "127.0.0.1:" + strconv.Itoa(programs.FreePort(t))
	}
	p.args = []string{
		"serve", "--config", p.config, "--store", store, "--http", p.http, "--resp", p.resp, "--grpc", p.grpc, "--admin", p.admin,
		"--drain", "0s", "--expect-processes", strconv.Itoa(shareCount),
	}
	p.write(false)
	p.start()
	t.Cleanup(p.kill)
	return p
}

// write atomically replaces the policies file with one of its versions.
func (p *process) write(second bool) {
	p.t.Helper()
	if err := os.WriteFile(p.config+".new", []byte(policiesFile(second)), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.config+".new", p.config); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the process and waits until it listens.
func (p *process) start() {
	p.t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	p.run = exec.CommandContext(context.Background(), p.program, p.args...)
	p.run.Stderr, p.run.Stdout = log, log
	p.run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.run.Start(); err != nil {
		p.t.Fatal(err)
	}
	run, done := p.run, make(chan struct{})
	p.done = done
	go func() {
		_ = run.Wait()
		close(done)
	}()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := p.get("/metrics"); err == nil {
			return
		}
		if time.Now().After(end) {
			p.t.Fatalf("the process does not listen:\n%s", p.lastLines())
		}
	}
}

// lastLines returns the last lines of the process's log, for error messages.
func (p *process) lastLines() []byte {
	text, _ := os.ReadFile(p.log)
	return text[max(0, len(text)-4096):]
}

// kill kills the process, like a failure of its machine would.
func (p *process) kill() { p.end(syscall.SIGKILL) }

// stop shuts the process down gracefully.
func (p *process) stop() { p.end(syscall.SIGTERM) }

// end sends a signal and waits until the process exits.
func (p *process) end(signal syscall.Signal) {
	if p.done == nil {
		return
	}
	_ = p.run.Process.Signal(signal)
	_ = p.run.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Errorf("a process did not end %s after %s", patience, signal)
		_ = p.run.Process.Kill()
		<-p.done
	}
	p.done = nil
}

func (p *process) signal(s syscall.Signal) { _ = p.run.Process.Signal(s) }

// get returns the process's metrics by name and labels, from the given path.
func (p *process) get(path string) (metrics map[string]float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.admin+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Close = true
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", path, response.Status)
	}
	metrics = map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if name, text, ok := strings.Cut(lines.Text(), " "); ok {
			if value, err := strconv.ParseFloat(text, 64); err == nil {
				metrics[name] = value
			}
		}
	}
	return metrics, lines.Err()
}

// use is the resource usage of one process: goroutines, open files, and resident memory in bytes.
type use struct{ goroutines, files, memory float64 }

func (p *process) use() (use, error) {
	m, err := p.get("/metrics")
	return use{m["go_goroutines"], m["process_open_fds"], m["process_resident_memory_bytes"]}, err
}

// growth is how far a process's memory use may exceed its use before the faults, in bytes. It leaves room for the
// garbage collector, for requests that are queued in an outage, and for their counters.
const growth = 96 << 20

// exceeds reports whether a process uses more resources than it did under load before the faults.
func (u use) exceeds(enough use) bool {
	return u.goroutines > enough.goroutines || u.files > enough.files || u.memory > enough.memory+growth
}

func (u use) String() string {
	return fmt.Sprintf("%.0f goroutines, %.0f files and %.0f MiB", u.goroutines, u.files, u.memory/(1<<20))
}

package servers

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headgate/headgate/lab/programs"
)

// fullPolicies are the policies of the server that TestMemoryOfAFullServer fills: states of windows, logs and permits take
// the most memory, and reservations with a term are kept with their keys.
const fullPolicies = `
policies:
  log:    {algorithm: sliding-log, limit: 100, window: 1d}
  jobs:   {algorithm: concurrency, limit: 100000, lease: 1h}
  tokens: {algorithm: token-bucket, rate: 1000000/1d, burst: 1000000, settle_within: 1h}
  calls:  {algorithm: fixed-window, limit: 1000000, window: 1h}
`

// full runs TestMemoryOfAFullServer, which takes half a minute of a processor.
var full = flag.Bool("full-server", false, "fill a whole server, and measure its memory")

// TestMemoryOfAFullServer fills every bound of a server with default flags at once: keys, settled and open reservations,
// permits, transactions' queues and connections. Its memory must stay below what the unit file allows, which the chart
// allows too (regression: bug 111).
func TestMemoryOfAFullServer(t *testing.T) {
	if !*full {
		t.Skip("without -full-server; make test-full has it")
	}
	unit, err := os.ReadFile("../../deploy/headgate.service")
	if err != nil {
		t.Fatal(err)
	}
	soft, hard := regexp.MustCompile(`(?m)^Environment=GOMEMLIMIT=(\S+)$`).FindSubmatch(unit), regexp.MustCompile(`(?m)^MemoryMax=(\d+)M$`).FindSubmatch(unit)
	if soft == nil || hard == nil {
		t.Fatal("the unit file has no GOMEMLIMIT or MemoryMax")
	}
	most, _ := strconv.ParseInt(string(hard[1]), 10, 64)
	config := filepath.Join(t.TempDir(), "policies.yaml")
	if err := os.WriteFile(config, []byte(fullPolicies), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), programs.Headgate(t), "serve", "--config", config, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer-share", "100")
	server.Env = append(os.Environ(), "GOMEMLIMIT="+string(soft[1]))
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = io.Discard
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		address, _ = strings.CutPrefix(lines.Text(), "resp listening on ")
		if !strings.HasPrefix(lines.Text(), "resp ") {
			address = ""
		}
	}
	f := &filler{t: t, address: address}
	var all sync.WaitGroup
	for part := range 2 {
		all.Go(func() {
			f.each(350_000, func(i int) string { return fmt.Sprintf("HEADGATE.ALLOW log %d-%d 12\r\n", part, i) })
			f.each(350_000, func(i int) string { return fmt.Sprintf("HEADGATE.ACQUIRE jobs %d-%d 1 %d\r\n", part, i, i) })
			f.each(100_000, func(i int) string { return fmt.Sprintf("HEADGATE.ACQUIRE jobs one-%d 1 %064d\r\n", part, i) })
			long := strings.Repeat("k", 900)
			f.each(30_000, func(i int) string {
				var b strings.Builder
				b.WriteString("HEADGATE.RESERVEALL")
				for c := range 8 {
					fmt.Fprintf(&b, " tokens %s-%d-%d 1", long, c, i%500)
				}
				return b.String() + "\r\n"
			})
			f.each(100_000, func(i int) string { return fmt.Sprintf("HEADGATE.RESERVE calls %d 1\r\n", i%1000) })
		})
	}
	all.Wait()
	f.hold(1000)
	if f.denied == 0 || f.queuedFull == 0 {
		t.Errorf("%d answers, %d denials, %d queues refused: the bounds were not reached", f.answers, f.denied, f.queuedFull)
	}
	peak := peakOf(t, server.Process.Pid)
	t.Logf("%d answers, %d denied; at most %d MiB of %d", f.answers, f.denied, peak>>20, most)
	if peak > most<<20 {
		t.Errorf("the server had %d MiB, and the unit file allows %d", peak>>20, most)
	}
	limit := regexp.MustCompile(`limits: \{memory: (\d+)Mi\}`)
	chart, err := os.ReadFile("../../deploy/chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if found := limit.FindSubmatch(chart); found == nil || string(found[1]) != string(hard[1]) {
		t.Errorf("the chart's limit %q is not the unit file's, %sM", found, hard[1])
	}
}

// filler sends commands to a server.
type filler struct {
	t       *testing.T
	address string

	mu                          sync.Mutex
	answers, denied, queuedFull int
}

// each sends n commands in pipelines, and counts the denials.
func (f *filler) each(n int, command func(i int) string) {
	conn, err := net.Dial("tcp", f.address)
	if err != nil {
		f.t.Error(err)
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	go func() {
		w := bufio.NewWriterSize(conn, 64<<10)
		for i := range n {
			if _, err := w.WriteString(command(i)); err != nil {
				return
			}
		}
		_, _ = w.WriteString("QUIT\r\n")
		_ = w.Flush()
	}()
	answers, denied := 0, 0
	for r := bufio.NewReaderSize(conn, 64<<10); ; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			break
		}
		answers++
		if bytes.HasPrefix(line, []byte("*6")) || bytes.HasPrefix(line, []byte("*8")) || bytes.HasPrefix(line, []byte("*7")) {
			if first, err := r.ReadSlice('\n'); err == nil && bytes.Equal(first, []byte(":1\r\n")) {
				denied++
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers, f.denied = f.answers+answers, f.denied+denied
}

// hold opens connections, and queues as much as it can in a transaction on each.
func (f *filler) hold(conns int) {
	long := strings.Repeat("x", 60_000)
	for range conns {
		conn, err := net.Dial("tcp", f.address)
		if err != nil {
			f.t.Error(err)
			return
		}
		f.t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Write([]byte("MULTI\r\nECHO " + long + "\r\nECHO " + long + "\r\n")); err != nil {
			return
		}
		r := bufio.NewReader(conn)
		for range 3 {
			if line, err := r.ReadString('\n'); err == nil && strings.HasPrefix(line, "-ERR transactions") {
				f.queuedFull++
			}
		}
	}
}

// peakOf returns the most memory that a process has had.
func peakOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip(err)
	}
	found := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if found == nil {
		t.Fatal("no VmHWM")
	}
	kb, _ := strconv.ParseInt(string(found[1]), 10, 64)
	return kb << 10
}

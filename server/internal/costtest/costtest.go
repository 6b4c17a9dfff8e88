// Package costtest compares the costs of inputs to a front end: the server's CPU time and memory per byte of input,
// relative to a byte of a plain request. Cheap input that causes expensive work is an attack that a front end's rate
// limit does not stop (regression: bug 69).
//
// The figures are for the whole process. They include the server with its connections and garbage collector, and the
// client, whose cost is the same for all inputs.
package costtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/headgate/headgate/internal/raced"
)

// Input is a message that a client sends.
type Input struct {
	Name string
	// Size is the number of bytes that the client sends.
	Size int
	// Send sends the input once and returns when the answer has arrived.
	Send func()
}

// Cost is the cost of one byte of an input.
type Cost struct {
	CPU    float64 // ns
	Memory float64 // bytes allocated
}

// Most is the largest allowed ratio of the cost of one byte of an input to the cost of one byte of a plain request.
// docs/reference/bounds.md documents it.
const Most = 10

const (
	// rounds is the number of measurements per input. The lowest value of each figure counts, because other work on
	// the machine only adds to it.
	rounds = 3
	// enough is the minimum CPU time of one measurement.
	enough = 20 * time.Millisecond
)

// Measure returns the cost per byte of an input: the lowest figures of several rounds.
func Measure(in Input) (least Cost) {
	for range 3 { // lets pools, maps and buffers reach their final size
		in.Send()
	}
	for round := range rounds {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began, sent := cpuTime(), 0
		for sent == 0 || cpuTime()-began < enough && sent < 10_000 {
			in.Send()
			sent++
		}
		took := cpuTime() - began
		runtime.ReadMemStats(&after)
		bytes := float64(sent * in.Size)
		c := Cost{CPU: float64(took) / bytes, Memory: float64(after.TotalAlloc-before.TotalAlloc) / bytes}
		if round == 0 {
			least = c
		}
		least.CPU, least.Memory = min(least.CPU, c.CPU), min(least.Memory, c.Memory)
	}
	return least
}

// leastMemory is the minimum memory, in bytes, counted for each byte of a plain request. On a connection whose
// buffers are already allocated, the real figure is nearly zero, and a multiple of nearly zero is harmless.
const leastMemory = 4

// Compare fails a test if a byte of an input costs more than Most times a byte of the plain request, in CPU time or
// in memory.
func Compare(t *testing.T, plain Input, inputs ...Input) {
	t.Helper()
	if raced.On {
		t.Skip("the race detector takes more time and memory than the server")
	}
	base := Measure(plain)
	t.Logf("%-36s %8d bytes: %7.1f ns, %7.1f bytes a byte", plain.Name, plain.Size, base.CPU, base.Memory)
	for _, in := range inputs {
		c := Measure(in)
		cpu, memory := c.CPU/base.CPU, c.Memory/max(base.Memory, leastMemory)
		line := fmt.Sprintf("%-36s %8d bytes: %7.1f ns, %7.1f bytes a byte: %.2f and %.2f times a plain request", in.Name, in.Size, c.CPU, c.Memory, cpu, memory)
		if memory > Most || cpu > Most {
			t.Errorf("%s, want at most %d times", line, Most)
			continue
		}
		t.Log(line)
	}
}

// Raw returns a constructor for inputs that a client writes as bytes to a connection. Connections are reused for as
// many inputs as the server allows. The function read reads an answer, and reports whether it is the last on its
// connection.
func Raw(t *testing.T, address string, read func(from *bufio.Reader) (last bool)) func(name, send string) Input {
	t.Helper()
	var conn net.Conn
	var answers *bufio.Reader
	closeConn := func() {
		if conn != nil {
			_ = conn.Close()
		}
		conn = nil
	}
	t.Cleanup(closeConn)
	return func(name, send string) Input {
		return Input{Name: name, Size: len(send), Send: func() {
			if conn == nil {
				var err error
				if conn, err = net.Dial("tcp", address); err != nil {
					t.Fatal(err)
				}
				answers = bufio.NewReaderSize(conn, 64<<10)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, send) // the server may answer and close before it has read everything
			if read(answers) {
				closeConn()
			}
		}}
	}
}

// HTTP reads an HTTP/1.1 answer, and reports whether it is the last on its connection. It is an argument for [Raw].
func HTTP(from *bufio.Reader) (last bool) {
	r, err := http.ReadResponse(from, nil)
	if err != nil {
		return true
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close()) != nil || r.Close
}

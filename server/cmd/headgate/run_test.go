package main

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestRunGivesUp checks that run releases its permit if the server answers an acquire with an error, because the
// permit may be held under the id that run chose.
func TestRunGivesUp(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	asked := make(chan string, 2)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 1024)
			_, _ = conn.Read(buffer) // HELLO
			_, _ = conn.Write([]byte("+OK\r\n"))
			n, _ := conn.Read(buffer)
			asked <- string(buffer[:n])
			_, _ = conn.Write([]byte("-UNAVAILABLE the store could not decide: outcome_unknown\r\n"))
			_ = conn.Close()
		}
	}()
	r := &runner{policy: "jobs", key: "k", clientFlags: clientFlags{server: listener.Addr().String(), timeout: 5 * time.Second, n: 1}}
	if held, err := r.admit(nil); held != nil || err == nil {
		t.Errorf("%+v, %v, want an error", held, err)
	}
	acquire, release := <-asked, <-asked
	id := acquire[strings.LastIndex(strings.TrimSuffix(acquire, "\r\n"), "\n")+1:]
	if !strings.Contains(acquire, "ACQUIRE") || !strings.Contains(release, "RELEASE") || !strings.HasSuffix(release, id) {
		t.Errorf("asked %q and %q", acquire, release)
	}
}

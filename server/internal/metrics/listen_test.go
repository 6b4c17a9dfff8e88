package metrics_test

import (
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/server/internal/metrics"
	"github.com/headgate/headgate/server/internal/service"
)

var goVersion = runtime.Version()

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestListenerCountsConnectionsAndBytes(t *testing.T) {
	m := metrics.New("v1")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := m.Listen(service.RESP, plain)
	defer l.Close()
	served := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			close(served)
			return
		}
		_, _ = io.ReadFull(c, make([]byte, 4))
		_, _ = c.Write([]byte("answer"))
		served <- c
	}()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, _ = client.Write([]byte("call"))
	_, _ = io.ReadFull(client, make([]byte, 6))
	c := <-served
	check := func(open float64) {
		t.Helper()
		got := values(t, m.Gatherer())
		for name, want := range map[string]float64{
			"connections frontend=resp": open, "connections_accepted_total frontend=resp": 1,
			"bytes_total direction=read frontend=resp": 4, "bytes_total direction=written frontend=resp": 6,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	}
	check(1)
	_ = c.Close()
	_ = c.Close() // closing twice counts only once
	check(0)
}

// TestFrontEndsThatAreOff checks that a front end has series only once it listens or decides or, for wrong secrets,
// once it has counted one.
func TestFrontEndsThatAreOff(t *testing.T) {
	m := metrics.New("v1")
	refused := metrics.Refused{
		WrongSecrets: func(from service.FrontEnd) uint64 { return map[service.FrontEnd]uint64{service.Gateway: 2}[from] },
		Requests:     func(service.FrontEnd, service.Refusal) uint64 { return 0 }, Serving: m.Serving,
	}
	if err := m.Add(metrics.Refusals.Of(func() metrics.Refused { return refused })); err != nil {
		t.Fatal(err)
	}
	of := func(name string) string {
		found := map[string]bool{}
		for series := range values(t, m.Gatherer()) {
			if rest, ok := strings.CutPrefix(series, name); ok {
				_, from, _ := strings.Cut(rest, "frontend=")
				found[strings.Fields(from)[0]] = true
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(found)), " ")
	}
	check := func(name, want string) {
		t.Helper()
		if got := of(name); got != want {
			t.Errorf("%s of %q, want %q", name, got, want)
		}
	}
	check("decision_", "")
	check("wrong_secrets_total", "gateway")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Listen(service.HTTP, plain).Close()
	m.Observe(&service.Observed{FrontEnd: service.RESP})
	check("decision_", "http resp")
	check("wrong_secrets_total", "gateway http")
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/server/internal/grpcapi"
	"github.com/headgate/headgate/server/internal/peers"
)

// pipes is a listener whose connections are pipes, each from a different address.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
	dialed byte
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.close(); return nil }
func (*pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p.dialed++
	select {
	case p.conns <- fromAddress{server, &net.TCPAddr{IP: net.IPv4(192, 0, 2, p.dialed), Port: 1}}:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

type fromAddress struct {
	net.Conn

	from net.Addr
}

func (f fromAddress) RemoteAddr() net.Addr { return f.from }

// TestIdleHTTPMakesRoom (regression: bug 70): HTTP connections that wait for a request are closed to make room for new
// ones. A connection with a request in flight stays open.
func TestIdleHTTPMakesRoom(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { idleHTTPMakesRoom(t, http2) })
	}
}

func idleHTTPMakesRoom(t *testing.T, http2 bool) {
	release := make(chan struct{})
	server := &http.Server{
		ConnState: peers.State, Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				<-release
			}
			fmt.Fprint(w, r.Proto)
		}),
	}
	server.Protocols.SetHTTP1(!http2)
	server.Protocols.SetUnencryptedHTTP2(http2)
	listener, served := newPipes(), make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(bound(listener, "http", 10, peers.Rule{}, slog.New(slog.DiscardHandler)))
	}()
	get := func(c *http.Client, path string) error {
		r, err := c.Get("http://a" + path)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, r.Body)
		return errors.Join(err, r.Body.Close())
	}
	var clients []*http.Client
	client := func() *http.Client {
		clients = append(clients, &http.Client{Transport: &http.Transport{Protocols: server.Protocols, DialContext: listener.DialContext}})
		return clients[len(clients)-1]
	}
	slow, answered := client(), make(chan error, 1)
	go func() { answered <- get(slow, "/slow") }()
	synctest.Wait()
	first := client()
	for i := range 40 {
		c := first
		if i > 0 {
			c = client()
		}
		if err := get(c, "/"); err != nil {
			t.Errorf("HTTP/2 %t, client %d: %v", http2, i, err)
		}
		if i == 7 {
			if err := get(first, "/"); err != nil { // makes first the most recently used
				t.Error(err)
			}
		}
		if i == 14 && listener.dialed != 16 {
			t.Errorf("%d connections for 16 clients", listener.dialed)
		}
		time.Sleep(2 * time.Second)
	}
	before := listener.dialed
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("HTTP/2 %t: the request that was running: %v", http2, err)
	}
	if err := get(clients[2], "/"); err != nil || listener.dialed != before+1 {
		t.Errorf("HTTP/2 %t: a client whose connection was closed: %v, %d connections more", http2, err, listener.dialed-before)
	}
	for _, c := range clients {
		c.CloseIdleConnections()
	}
	server.Close()
	<-served
}

// TestIdleGRPCMakesRoom (regression: bug 70): gRPC connections without a call are closed to make room for new ones. A
// connection with a call in flight stays open.
func TestIdleGRPCMakesRoom(t *testing.T) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpcapi.New(grpcapi.Config{})
	server.SetServing(true)
	served := make(chan error, 1)
	go func() {
		served <- server.Serve(bound(plain, "grpc", 10, peers.Rule{}, slog.New(slog.DiscardHandler)))
	}()
	defer func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ctx)
		<-served
	}()
	client := func() healthpb.HealthClient {
		c, err := grpc.NewClient(plain.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithIdleTimeout(0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return healthpb.NewHealthClient(c)
	}
	watch, err := client().Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	idle := make([]net.Conn, 8)
	for i := range idle {
		if idle[i], err = net.Dial("tcp", plain.Addr().String()); err != nil {
			t.Fatal(err)
		}
		defer idle[i].Close()
		if _, err := io.WriteString(idle[i], "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = idle[0].SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.Copy(io.Discard, idle[0]); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection that was idle the longest is still open")
		}
	}()
	for open := true; open; { // at first, no connection has been idle for long enough
		if _, err := client().Check(t.Context(), &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
			t.Fatalf("a new client: %v", err)
		}
		select {
		case <-closed:
			open = false
		default:
		}
	}
	server.SetServing(false)
	if r, err := watch.Recv(); err != nil || r.Status != healthpb.HealthCheckResponse_NOT_SERVING {
		t.Errorf("the watch: %v, %v", r, err)
	}
}

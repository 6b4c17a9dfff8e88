package resp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/internal/resp"
)

// TestShutdownAnswersSentCommands checks that Shutdown answers commands that have already been read, and commands
// that arrive within 50 ms.
func TestShutdownAnswersSentCommands(t *testing.T) {
	a := &fakeDecider{}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide, IdleTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		release := make(chan struct{})
		a.wait = func(context.Context) { <-release }
		client, idle := l.dial(), l.dial()
		if _, err := io.WriteString(client, "ask a\r\nPING\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until Decide is called
		done := make(chan error, 2)
		for range cap(done) { // a second call also waits
			go func() { done <- s.Shutdown(context.Background()) }()
		}
		synctest.Wait()
		close(release)
		if got := receive(t, client); got != "+a\r\n+PONG\r\n" {
			t.Errorf("a command that was read is answered %q", got)
		}
		begin := time.Now()
		time.AfterFunc(10*time.Millisecond, func() { _, _ = io.WriteString(client, "ask b\r\n") })
		if got := receive(t, client); got != "+b\r\n" {
			t.Errorf("a command that arrives later is answered %q", got)
		}
		if rest := readToEnd(t, client) + readToEnd(t, idle); rest != "" || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("at the end: %q after %v, want nothing after 50ms", rest, time.Since(begin))
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestShutdownTimesOut checks that when its context ends, Shutdown cancels the context of decisions and closes the
// connections of clients that do not read.
func TestShutdownTimesOut(t *testing.T) {
	const timeout = time.Second
	a := &fakeDecider{wait: func(ctx context.Context) { <-ctx.Done() }}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide, WriteTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		for _, command := range []string{"ask a\r\n", "PING\r\n"} {
			if _, err := io.WriteString(l.dial(), command); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		begin := time.Now()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != timeout {
			t.Errorf("%v after %v, want the context's end after %v", err, time.Since(begin), timeout)
		}
	})
}

// TestShutdownDoesNotWaitForIdleClients checks that Shutdown waits only 50 ms for the last commands of idle clients.
func TestShutdownDoesNotWaitForIdleClients(t *testing.T) {
	inBubble(t, resp.Config{IdleTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, "PING\r\nPI") // half a command does not delay Shutdown
		begin := time.Now()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Errorf("it took %v, want 50ms", took)
		}
	})
}

// TestServeAfterShutdown checks that Serve after Shutdown closes the listener and accepts no connections.
func TestServeAfterShutdown(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, _ *listener) {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		late := newListener()
		if err := s.Serve(late); err != nil {
			t.Errorf("serving after Shutdown: %v", err)
		}
		if _, err := late.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Error("the listener is open")
		}
	})
}

// TestAcceptBacksOff checks that after each failed accept the server doubles its wait, up to a second, and that a
// success resets the wait to 5 ms.
func TestAcceptBacksOff(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, l *listener) {
		fail := func(times int, want time.Duration) {
			t.Helper()
			begin := time.Now()
			for range times {
				l.failures <- errors.New("too many open files")
			}
			if got := exchange(t, l.dial(), "PING\r\n"); got != "+PONG\r\n" || time.Since(begin) != want {
				t.Errorf("after %d failures: %q after %v, want %v", times, got, time.Since(begin), want)
			}
		}
		fail(3, (5+10+20)*time.Millisecond)
		fail(10, (5+10+20+40+80+160+320+640+1000+1000)*time.Millisecond)
		l.failures <- errors.New("too many open files")
		synctest.Wait() // Shutdown does not wait for the pause
	})
}

// TestServeReturnsIfTheListenerCloses checks that Serve returns net.ErrClosed if its caller closes the listener.
func TestServeReturnsIfTheListenerCloses(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, _ *listener) {
		other := newListener()
		other.Close()
		if err := s.Serve(other); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v, want net.ErrClosed", err)
		}
	})
}

// TestShutdownClosesLateConnections checks that a connection that is accepted while Shutdown begins is closed without
// being served.
func TestShutdownClosesLateConnections(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, _ *listener) {
		client, server := net.Pipe()
		late := &lateListener{listener: newListener(), conn: server}
		done := make(chan error, 1)
		go func() { done <- s.Serve(late) }()
		synctest.Wait()
		go func() { _ = s.Shutdown(context.Background()) }()
		begin := time.Now()
		if rest := readToEnd(t, client); rest != "" || time.Since(begin) > 0 {
			t.Errorf("a late client got %q after %v, want the end at once", rest, time.Since(begin))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// lateListener accepts its connection while the listener is being closed.
type lateListener struct {
	*listener
	conn net.Conn
}

func (l *lateListener) Accept() (net.Conn, error) {
	if conn := l.conn; conn != nil {
		<-l.closed
		l.conn = nil
		return conn, nil
	}
	return l.listener.Accept()
}

package resp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/resp"
)

// TestShutdownAnswers: what was read when Shutdown began is answered, and what
// is on its way too.
func TestShutdownAnswers(t *testing.T) {
	a := &asker{}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide, IdleTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		release := make(chan struct{})
		a.wait = func(context.Context) { <-release }
		client, idle := l.dial(), l.dial()
		if _, err := io.WriteString(client, "ask a\r\nPING\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the decider is asked
		done := make(chan error, 2)
		for range cap(done) { // calling it twice is the same
			go func() { done <- s.Shutdown(context.Background()) }()
		}
		synctest.Wait()
		close(release)
		if got := receive(t, client); got != "+a\r\n+PONG\r\n" {
			t.Errorf("what was read is answered %q", got)
		}
		begin := time.Now()
		time.AfterFunc(10*time.Millisecond, func() { _, _ = io.WriteString(client, "ask b\r\n") })
		if got := receive(t, client); got != "+b\r\n" {
			t.Errorf("what was on its way is answered %q", got)
		}
		if rest := ended(t, client) + ended(t, idle); rest != "" || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("at the end: %q after %v, want nothing after 50ms", rest, time.Since(begin))
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestShutdownGivesUp: when its context ends, decisions are told so by theirs,
// and clients that do not read are closed.
func TestShutdownGivesUp(t *testing.T) {
	const patience = time.Second
	a := &asker{wait: func(ctx context.Context) { <-ctx.Done() }}
	inBubble(t, resp.Config{Decisions: a.decisions(), Decide: a.decide, WriteTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		for _, command := range []string{"ask a\r\n", "PING\r\n"} {
			if _, err := io.WriteString(l.dial(), command); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		begin := time.Now()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != patience {
			t.Errorf("%v after %v, want the context's end after %v", err, time.Since(begin), patience)
		}
	})
}

// TestShutdownIsQuick: idle clients are not waited for beyond the window in
// which their last bytes may arrive.
func TestShutdownIsQuick(t *testing.T) {
	inBubble(t, resp.Config{IdleTimeout: time.Hour}, func(t *testing.T, s *resp.Server, l *listener) {
		client := l.dial()
		exchange(t, client, "PING\r\nPI") // half a command does not count
		begin := time.Now()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 50*time.Millisecond {
			t.Errorf("it took %v, want 50ms", took)
		}
	})
}

// TestServeAfterShutdown: the listener is closed and nothing is accepted.
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

// TestAcceptFails: the server tries again, each time after twice as long, and
// begins anew after a success.
func TestAcceptFails(t *testing.T) {
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

// TestListenerClosed: somebody else closed it, and Serve says so.
func TestListenerClosed(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, _ *listener) {
		other := newListener()
		other.Close()
		if err := s.Serve(other); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v, want that the listener is closed", err)
		}
	})
}

// TestShutdownRefusesLateConnections: one that was accepted while Shutdown
// began is closed, not served.
func TestShutdownRefusesLateConnections(t *testing.T) {
	inBubble(t, resp.Config{}, func(t *testing.T, s *resp.Server, _ *listener) {
		client, server := net.Pipe()
		late := &lateListener{listener: newListener(), conn: server}
		done := make(chan error, 1)
		go func() { done <- s.Serve(late) }()
		synctest.Wait()
		go func() { _ = s.Shutdown(context.Background()) }()
		begin := time.Now()
		if rest := ended(t, client); rest != "" || time.Since(begin) > 0 {
			t.Errorf("a late client got %q after %v, want the end at once", rest, time.Since(begin))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// lateListener accepts its connection when it is closed.
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

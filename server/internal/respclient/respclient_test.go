package respclient

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/server/internal/resp"
)

// serve starts a server at address. The returned function stops it.
func serve(t *testing.T, address string) (own string, stop func()) {
	t.Helper()
	s, err := resp.New(resp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	return l.Addr().String(), func() {
		if err := errors.Join(s.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	}
}

// TestClientOpensABrokenConnectionAgain restarts the server. No command is sent twice, so the first one afterwards may
// fail.
func TestClientOpensABrokenConnectionAgain(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	address, stop := serve(t, "127.0.0.1:0")
	c, err := Open(address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ping := func() (string, error) {
		reply, err := c.Do(ctx, "PING")
		if err != nil {
			return "", err
		}
		return reply.ToString()
	}
	if reply, err := ping(); err != nil || reply != "PONG" {
		t.Errorf("%q, %v", reply, err)
	}
	var refused *rueidis.RedisError
	if _, err := c.Do(ctx, "NOSUCH"); !errors.As(err, &refused) {
		t.Errorf("an error reply: %v", err)
	}
	stop()
	if reply, err := ping(); err == nil || errors.As(err, &refused) {
		t.Errorf("without a server: %q, %v", reply, err)
	}
	_, stop = serve(t, address)
	defer stop()
	reply, err := ping()
	if err != nil {
		reply, err = ping()
	}
	if err != nil || reply != "PONG" {
		t.Errorf("after a restart: %q, %v", reply, err)
	}
}

// TestOpenReportsAServerThatIsAway checks that Open connects.
func TestOpenReportsAServerThatIsAway(t *testing.T) {
	address, stop := serve(t, "127.0.0.1:0")
	stop()
	if c, err := Open(address, Options{}); err == nil {
		c.Close()
		t.Error("no error")
	}
}

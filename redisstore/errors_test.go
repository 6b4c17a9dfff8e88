package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
)

// Regression: bug 34. Each error gets its class, whatever text a server adds before or after it.
func TestClasses(t *testing.T) {
	for text, want := range map[string]Class{
		"READONLY You can't write against a read only replica.":                                    ReadOnly,
		"-READONLY You can't write against a read only replica. script: f, on @user_script:5.":     ReadOnly,
		"LOADING Redis is loading the dataset in memory":                                           Loading,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":   Busy,
		"OOM command not allowed when used memory > 'maxmemory'.":                                  OutOfMemory,
		"CLUSTERDOWN Hash slot not served":                                                         ClusterDown,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":         MasterDown,
		"MOVED 3999 127.0.0.1:6381":                                                                Moved,
		"ASK 3999 127.0.0.1:6381":                                                                  Ask,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                  TryAgain,
		"NOSCRIPT No matching script. Please use EVAL.":                                            NoScript,
		"NOAUTH Authentication required.":                                                          NoAuth,
		"WRONGPASS invalid username-password pair or user is disabled.":                            NoAuth,
		"NOPERM this user has no permissions to run the 'evalsha' command":                         NoPermission,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist.": NoDisk,
		"NOREPLICAS Not enough good replicas to write.":                                            NoReplicas,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                        WrongType,
		"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed":         OutOfMemory,
		"ERR max number of clients reached":                                                        Unsent,
		"max number of clients reached":                                                            Unsent,
		"ERR invalid password":                                                                     NoAuth,
		"invalid password":                                                                         NoAuth,
		"ERR something else":                                                                       Other,
	} {
		if got := classOf(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Regression: bug 238. What a server, or a proxy before it, answers without a known reason is an outage once the server
// has worked. An error within a script may concern its key only.
func TestUnknownRefusalIsAnOutage(t *testing.T) {
	for text, outage := range map[string]bool{
		"ERR upstream failure":          true,
		"ERR unknown command 'EVALSHA'": true,
		"ERR user_script:7: attempt to compare nil with number script: f, on @user_script:7.": false,
	} {
		s := new(Store)
		s.closed.Store(true) // it has no connections to renew
		if err := s.wrap(t.Context(), nil, &ServerError{Text: text}); engine.Away(err) || (s.Refused() != nil) != outage {
			t.Errorf("%q of a server that has not worked: %v, refused %v", text, err, s.Refused())
		}
		s.working.server()
		if err := s.wrap(t.Context(), nil, &ServerError{Text: text}); engine.Away(err) != outage {
			t.Errorf("%q of a server that has worked: outage %t, want %t", text, !outage, outage)
		}
	}
}

// If a server does not know the script and the caller's deadline has passed, nothing has run. The server was merely
// slow, so failure mode local answers with a share.
func TestScriptWithoutTimeLeft(t *testing.T) {
	over, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	unknown := &ServerError{Text: "NOSCRIPT No matching script. Please use EVAL."}
	for ctx, want := range map[context.Context]Class{over: Unsent, context.Background(): NoScript} {
		err := new(Store).wrap(ctx, nil, unknown)
		if typed, ok := errors.AsType[*Error](err); !ok || typed.Class != want || errors.Is(err, context.DeadlineExceeded) != (want == Unsent) {
			t.Errorf("%v, want class %s", err, want)
		}
	}
}

// A dial shared by several callers ends with a network timeout at the earliest of their deadlines. For the other
// callers it counts as a deadline exceeded too, and nothing was sent.
func TestSharedDialTimesOut(t *testing.T) {
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	err := new(Store).wrap(context.Background(), nil, fmt.Errorf("%w: %w", ErrNotSent, dial))
	if typed, ok := errors.AsType[*Error](err); !ok || typed.Class != Unsent || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is not an unsent call past its deadline", err)
	}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	if err := new(Store).wrap(context.Background(), nil, fmt.Errorf("%w: %w", ErrNotSent, refused)); errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v is a deadline exceeded", err)
	}
}

package servicetest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/internal/resp"
	"github.com/headgate/headgate/server/internal/resp/resptest"
	"github.com/headgate/headgate/server/internal/respapi"
	"github.com/headgate/headgate/server/internal/service"
)

// respFront is a connection to a RESP server.
type respFront struct {
	conn  net.Conn
	reply *bufio.Reader
}

// dial starts a server with the service, and connects to it.
func dial(t *testing.T, s *service.Service) respFront {
	t.Helper()
	server, err := resp.New(resp.Config{Decisions: respapi.Commands(), Decide: s.For(service.RESP)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := errors.Join(server.Shutdown(context.Background()), <-served); err != nil {
			t.Error(err)
		}
	})
	return respFront{conn: conn, reply: bufio.NewReader(conn)}
}

// Do implements [Front].
func (c respFront) Do(t *testing.T, r Request) Answer {
	t.Helper()
	if _, err := c.conn.Write(resptest.AppendCommand(nil, commandOf(r)...)); err != nil {
		t.Fatal(err)
	}
	v, err := resptest.Read(c.reply)
	if err != nil {
		t.Fatal(err)
	}
	if v.Kind == resptest.Error {
		return Answer{Failed: true, Code: respCode(t, v.Text)}
	}
	switch r.Kind {
	case engine.OpReset, engine.OpSettle, engine.OpRelease:
		return Answer{Found: v.Int == 1}
	case engine.OpRenew:
		return Answer{Allowed: v.Int == 1}
	case engine.OpGive:
		return Answer{Remaining: v.Int}
	}
	n := func(i int) int64 { return v.Items[i].Int }
	a := Answer{Allowed: n(0) == 0, Limit: n(1), Remaining: n(2), ResetSeconds: n(4)}
	if len(v.Items) >= 6 {
		a.DelayMillis = n(5)
	}
	if r.Charges != nil {
		a.Limits = respLimits(v.Items[6].Items)
		v.Items = slices.Delete(v.Items, 6, 7)
	}
	switch {
	case len(v.Items) == 7 && r.Kind <= engine.OpPeek:
		a.Paid = v.Items[6].Text
	case len(v.Items) >= 7:
		a.Handle = v.Items[6].Text
	}
	if len(v.Items) == 8 && r.Kind == engine.OpAcquire {
		a.LeaseMillis = n(7)
	}
	if n(1) < 0 {
		a.Unlimited, a.Limit, a.Remaining = true, 0, 0
	}
	if !a.Allowed {
		if a.RetrySeconds = n(3); n(3) < 0 {
			a.Never, a.RetrySeconds = true, 0
		}
	}
	return a
}

// respLimits returns the part of a reply about the limits of several charges.
func respLimits(limits []resptest.Value) string {
	var texts []string
	for _, l := range limits {
		if of := l.Items; of[3].Int >= 0 { // −1 means that no limit applies
			texts = append(texts, LimitText(of[0].Text, int(of[1].Int), of[4].Int))
		}
	}
	return LimitsText(0, texts)
}

func commandOf(r Request) []string {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch {
	case r.Used != nil:
		words := []string{"HEADGATE.COMMIT", r.Handle}
		if r.Reports {
			words[0] = "HEADGATE.REPORT"
		}
		for _, used := range r.Used {
			words = append(words, text(used))
		}
		return words
	case r.Charges != nil:
		words := []string{"HEADGATE." + strings.ToUpper(r.Kind.String()) + "ALL"}
		for _, c := range r.Charges {
			units := "*"
			if c.Cost >= 0 {
				units = text(c.Cost)
			}
			words = append(words, c.Policy, c.Key, units)
		}
		return append(words, classOf(r)...)
	case r.Commits:
		return []string{"HEADGATE.COMMIT", r.Handle, text(r.Cost)}
	case r.Kind == engine.OpSettle:
		return []string{"HEADGATE.CANCEL", r.Handle}
	case r.Kind == engine.OpRenew || r.Kind == engine.OpRelease:
		return []string{"HEADGATE." + strings.ToUpper(r.Kind.String()), r.Policy, r.Key, r.Handle}
	case r.Policy == "" && r.Kind == engine.OpReset:
		return []string{"DEL", r.Key}
	case r.Policy == "":
		return []string{"CL.THROTTLE", r.Key, text(r.Throttle[0] - 1), text(r.Throttle[1]), text(r.Throttle[2]), text(r.Cost)}
	}
	words := []string{"HEADGATE." + strings.ToUpper(r.Kind.String()), r.Policy, r.Key}
	if r.Cost >= 0 {
		words = append(words, text(r.Cost))
	}
	if r.Kind == engine.OpReserve && r.MaxDelay >= 0 {
		words = append(words, text(r.MaxDelay))
	}
	return append(words, classOf(r)...)
}

func classOf(r Request) []string {
	if r.Class == "" {
		return nil
	}
	return []string{"CLASS", r.Class}
}

func respCode(t *testing.T, text string) service.Code {
	t.Helper()
	switch {
	case strings.HasPrefix(text, "UNAVAILABLE "):
		return service.Unavailable
	case strings.HasPrefix(text, "WRONGVERB "):
		return service.WrongVerb
	}
	if !strings.HasPrefix(text, "ERR ") {
		t.Errorf("error %q does not begin with ERR", text)
	}
	for part, code := range map[string]service.Code{
		"no policy": service.NotFound, "--allow-writes": service.Forbidden,
		"count per period must be": service.WrongVerb, "key must be": service.Invalid, "reservation is not one": service.Invalid, "reservation is without a term": service.Invalid,
		"id must be": service.Invalid, "accepted: 1 or more": service.Invalid,
	} {
		if strings.Contains(text, part) {
			return code
		}
	}
	t.Errorf("unexpected error %q", text)
	return 0
}

func TestRESPAnswersAsTheServiceDoes(t *testing.T) {
	Run(t, func(t *testing.T, s *service.Service) Front { return dial(t, s) })
}

package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
)

func deniedCall(at time.Time, keys ...string) *service.Observed {
	o := &service.Observed{FrontEnd: service.HTTP, Ended: at}
	for _, key := range keys {
		o.Requests = append(o.Requests, decide.Request{Kind: engine.OpAllow, Item: decide.Item{Policy: "api", Key: key}})
		response := decide.Response{Policy: "api"}
		response.Binds().Limit, response.Binds().RetryAfter = 5, time.Second
		o.Responses = append(o.Responses, response)
	}
	return o
}

// TestDenialsAreSampled checks that the number of lines per second is limited, and that the next line reports how
// many were omitted. Allowed requests and peeks are not logged.
func TestDenialsAreSampled(t *testing.T) {
	var log bytes.Buffer
	l := &denials{logger: slog.New(slog.NewTextHandler(&log, nil)), lines: lograte.Limit{Lines: 2, Per: time.Second}, show: cut}
	start := time.Now()
	o := deniedCall(start, "allowed", "peek", "ann@example.com", "b", "c", "d")
	o.Responses[0].Allowed = true
	o.Requests[1].Kind = engine.OpPeek
	l.Observe(o)
	later := deniedCall(start.Add(time.Second), "e")
	later.Context = requestid.With(t.Context(), "r-7")
	l.Observe(later)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	for i, want := range []string{
		"msg=denied frontend=http policy=api key=ann@exa… limit=5 mode=exact reason=limit retry_after_ms=1000 not_logged=0",
		"key=… ", "retry_after_ms=1000 request_id=r-7 not_logged=2",
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%s: no %q", lines[i], want)
		}
	}
	if strings.Contains(log.String(), "example") {
		t.Error("the log has a whole key")
	}
	log.Reset()
	l.show = (&Config{LogKeys: true}).shownKey()
	never := make([]decide.Response, 1)
	never[0].Binds().RetryAfter = engine.Never
	l.Observe(&service.Observed{
		FrontEnd: service.GRPC, Ended: start.Add(time.Minute), Requests: []decide.Request{{Kind: engine.OpCount, Item: decide.Item{Key: "whole"}}},
		Responses: never,
	})
	if !strings.Contains(log.String(), "key=whole") || strings.Contains(log.String(), "retry_after") {
		t.Error(log.String())
	}
	log.Reset()
	own := deniedCall(start.Add(time.Hour), "own")
	c := policy.Inline(engine.Charge{})
	c.Override = true
	own.Responses[0].SetCharges(c)
	if l.Observe(own); !strings.Contains(log.String(), "reason=override ") {
		t.Error(log.String())
	}
	log.Reset()
	l.Observe(&service.Observed{
		FrontEnd: service.Gateway, Ended: start.Add(2 * time.Hour), Responses: make([]decide.Response, 1),
		Requests: []decide.Request{{Kind: engine.OpAllow, Route: &route.Match{NoKey: &httplimit.NoKeyError{Part: "header X-API-Key"}}}},
	})
	if want := `reason=no_key part="header X-API-Key" not_logged=0`; !strings.Contains(log.String(), want) {
		t.Errorf("%s: no %s", log.String(), want)
	}
}

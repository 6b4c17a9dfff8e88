package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/service"
)

// TestWrongSecretsAreSampled checks that every wrong secret is counted, that at most ten per second are logged, and
// that the next line reports how many were omitted.
func TestWrongSecretsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := wrongSecrets{lines: lograte.Limit{Lines: maxWrongLines, Per: time.Second}, logger: slog.New(slog.NewTextHandler(&log, nil))}
		for range 25 {
			w.in(service.RESP)("192.0.2.1:7")
		}
		time.Sleep(time.Second)
		w.in(service.GRPC)("192.0.2.2:7")
		if w.count(service.RESP) != 25 || w.count(service.GRPC) != 1 || w.count(service.HTTP) != 0 {
			t.Errorf("%d over RESP, %d over gRPC, %d over HTTP", w.count(service.RESP), w.count(service.GRPC), w.count(service.HTTP))
		}
		const line = `level=WARN msg="wrong secret" frontend=`
		if got := log.String(); strings.Count(got, line) != 11 || !strings.Contains(got, line+"grpc client=192.0.2.2:7 not_logged=15") {
			t.Errorf("%s", got)
		}
	})
}

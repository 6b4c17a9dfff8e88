package daemon_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/daemon"
)

// TestSnapshotKeepsReservations checks that a reservation made before a restart can be settled exactly once after it.
func TestSnapshotKeepsReservations(t *testing.T) {
	c := daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Snapshot: filepath.Join(t.TempDir(), "state"), SnapshotEvery: time.Hour}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	during := func(calls func(post func(verb, body string) string)) {
		d := start(t, c)
		ctx, stop := context.WithCancel(context.Background())
		stopped := make(chan error, 1)
		go func() { stopped <- d.Run(ctx, ctx) }()
		calls(func(verb, body string) string {
			answer, err := client.Post("http://"+d.HTTPAddr().String()+"/v1/"+verb, "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		})
		stop()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	var reserved struct{ Reservation string }
	during(func(post func(verb, body string) string) {
		if err := json.Unmarshal([]byte(post("reserve", `{"key":"k","limit":"10/1h","cost":8}`)), &reserved); err != nil || reserved.Reservation == "" {
			t.Fatal(err)
		}
	})
	during(func(post func(verb, body string) string) {
		for _, settled := range []string{"true", "false"} {
			if got := post("commit", `{"reservation":"`+reserved.Reservation+`","actual":1}`); !strings.Contains(got, `"settled":`+settled) {
				t.Errorf("a commit: %s, want settled %s", got, settled)
			}
		}
		if got := post("peek", `{"key":"k","limit":"10/1h"}`); !strings.Contains(got, `"remaining":9`) {
			t.Errorf("one unit was used: %s", got)
		}
	})
}

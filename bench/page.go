package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"time"
)

const (
	// followers is the number of clients that follow the events.
	followers = 3
	// followed is the length of a measurement if the server handles 400 000 commands per second. A faster server
	// finishes earlier, but even at a million commands per second a measurement includes two snapshots.
	followed = 6 * time.Second
)

// page measures a server over RESP in memory, with and without clients that follow its events. The page in a browser is
// such a client.
func page(ctx context.Context, s settings) ([]table, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	one, err := startPrinting(exec.CommandContext(ctx, "../bin/headgate", "serve", "--http", "off", "--resp", "127.0.0.1:0", "--admin", address))
	if err != nil {
		return nil, err
	}
	defer one.stop()
	s.rounds, s.lasts = max(s.rounds, 5), max(s.lasts, followed)
	t, err := beside(s, func(on bool) (float64, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for range followers {
			if !on {
				break
			}
			if err := followEvents(ctx, "http://"+address+"/admin/v1/events"); err != nil {
				return 0, err
			}
		}
		a := served{server: one, words: []string{"CL.THROTTLE", "key:__rand_int__", "15", "30", "60"}}
		return a.round(ctx, 64, s)
	})
	if err != nil {
		return nil, err
	}
	t.title, t.unit, t.reach = fmt.Sprintf("%d clients of the events: RESP in memory, depth 64", followers), "commands/s", 0.97
	t.lines[0].name, t.lines[1].name = "with clients", "without"
	return []table{t}, nil
}

// followEvents reads a stream of events until its context ends.
func followEvents(ctx context.Context, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close()
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	go func() {
		_, _ = io.Copy(io.Discard, answer.Body) // ends when the context ends
		_ = answer.Body.Close()
	}()
	return nil
}

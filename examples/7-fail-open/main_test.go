package main

import (
	"strings"
	"testing"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/open"
)

func TestEveryRequestPassesWithoutStore(t *testing.T) {
	server := redistest.Standalone(t, redistest.Redis)
	store, err := open.URL(t.Context(), "redis://"+server.Addr(), open.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	limiter := headgate.New(headgate.WithStore(store))
	prints := func(want string) {
		t.Helper()
		var printed strings.Builder
		if err := run(t.Context(), &printed, limiter); err != nil {
			t.Fatal(err)
		}
		if printed.String() != want {
			t.Errorf("printed:\n%swant:\n%s", printed.String(), want)
		}
	}
	const allPass = "passes: true\npasses: true\npasses: true\n"
	prints("passes: true\npasses: true\npasses: false\n")
	server.Pause() // the server does not answer
	prints(allPass)
	server.Resume()
	server.Stop() // the server refuses connections
	prints(allPass)
}

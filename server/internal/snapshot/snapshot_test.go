package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/rule"
	"github.com/headgate/headgate/memstore"
	"github.com/headgate/headgate/server/internal/snapshot"
)

const keys = 500

// writing is the environment variable with the name of the file that a child process writes.
const writing = "HEADGATE_TEST_SNAPSHOT"

func TestMain(m *testing.M) {
	if path := os.Getenv(writing); path != "" {
		writeForEver(path)
	}
	goleak.VerifyTestMain(m)
}

func newStore() *memstore.Store {
	store, err := memstore.New(memstore.Config{MaxKeys: 10 * keys})
	if err != nil {
		panic(err)
	}
	return store
}

// spend charges each key one unit.
func spend(store *memstore.Store) {
	for i := range keys {
		op := engine.Single(engine.OpAllow, fmt.Sprint("key", i), rule.SlidingLog(rule.PerDay(100_000)), 1)
		store.Do(context.Background(), []engine.Op{op}, make([]engine.Answer, 1))
	}
}

// writeForEver writes snapshots one after another, and reports each, until it is killed.
func writeForEver(path string) {
	store := newStore()
	k := snapshot.New(snapshot.Config{Path: path, Every: time.Second, Store: store, Logger: slog.New(slog.DiscardHandler)})
	for {
		spend(store)
		if err := k.Save(context.Background()); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("written")
	}
}

func restore(t *testing.T, path string) *memstore.Store {
	t.Helper()
	file, err := snapshot.Open(path)
	if err != nil || file == nil {
		t.Fatal(file, err)
	}
	defer file.Close()
	store, err := memstore.Restore(memstore.Config{MaxKeys: 10 * keys}, file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// TestKilledWhileWriting checks that the file is a complete snapshot, no matter when the process is killed.
func TestKilledWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	random := rand.New(rand.NewPCG(1, 2))
	for range 25 {
		c := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test
		c.Env = append(os.Environ(), writing+"="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("written"))
		if _, err := out.Read(first); err != nil || string(first) != "written" {
			t.Fatalf("%q, %v", first, err)
		}
		time.Sleep(time.Duration(random.IntN(10_000)) * time.Microsecond)
		_ = c.Process.Kill()
		_ = c.Wait()
		if n := restore(t, path).Stats().Keys; n != keys {
			t.Fatalf("%d keys are restored, want %d", n, keys)
		}
	}
}

// TestRunWritesInTime checks that Run writes the first snapshot after Config.Every and not earlier, and that it returns
// when its context ends.
func TestRunWritesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "snapshot")
		store := newStore()
		defer store.Close()
		spend(store)
		k := snapshot.New(snapshot.Config{Path: path, Every: time.Minute, Store: store, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			k.Run(ctx)
			close(ended)
		}()
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if s := k.Stats(); !s.At.IsZero() {
			t.Errorf("written before its time: %+v", s)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := k.Stats(); s.Keys != keys || s.At.IsZero() {
			t.Errorf("%+v, want %d keys", s, keys)
		}
		stop()
		<-ended
	})
}

// TestFailureIsLogged checks that a failed write is counted and logged, and that the first success after it is logged
// too. Open returns nil for a file that does not exist.
func TestFailureIsLogged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	path := filepath.Join(dir, "snapshot")
	store, log := newStore(), new(bytes.Buffer)
	defer store.Close()
	k := snapshot.New(snapshot.Config{Path: path, Every: time.Second, Store: store, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err := k.Save(t.Context()); err == nil {
		t.Error("a directory that is not there is written to")
	}
	if s := k.Stats(); s.Failed != 1 || !s.Failing || !s.At.IsZero() {
		t.Errorf("%+v", s)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.Save(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if s := k.Stats(); s.Failed != 1 || s.Failing || s.At.IsZero() {
		t.Errorf("%+v", s)
	}
	if got := log.String(); strings.Count(got, "snapshot failed: the last one is kept") != 1 || strings.Count(got, "working again") != 1 {
		t.Errorf("the log: %s", got)
	}
	if file, err := snapshot.Open(filepath.Join(dir, "none")); file != nil || err != nil {
		t.Errorf("a file that is not there: %v, %v", file, err)
	}
}

package faults

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/lab/redistest"
	"github.com/headgate/headgate/lab/testbed"
	"github.com/headgate/headgate/layer/fallback"
	"github.com/headgate/headgate/open"
	"github.com/headgate/headgate/redisstore"
)

// The password of Redis is rotated under load: both are valid, the file is changed, the old one is removed, and all
// connections are closed. No request gets an error, and decisions are exact afterwards.
func TestPasswordIsReadAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Standalone(t, redistest.Redis)
	s.MustDo("acl", "setuser", "app", "on", ">old", "~*", "&*", "+@all")
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old")
	store, err := open.URL(t.Context(), "redis://app@"+s.Addr(), open.Options{PasswordFile: file, Fallback: &fallback.Config{Expect: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var stop atomic.Bool
	var exact atomic.Int64
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for !stop.Load() {
				if r := testbed.Take(store, "k", testbed.Hourly); r.Err != nil {
					t.Errorf("a request got an error: %v", r.Err)
					return
				} else if r.Promise.Mode == engine.Exact {
					exact.Add(1)
				}
			}
		})
	}
	goesOn := func(when string) {
		before := exact.Load()
		testbed.Until(t, "exact decisions "+when, func() bool { return exact.Load() > before+100 })
	}
	kill := func() { _, _ = s.Do("client", "kill", "user", "app") }
	goesOn("before")
	s.MustDo("acl", "setuser", "app", ">new")
	kill()
	goesOn("while both passwords are valid")
	write("new")
	s.MustDo("acl", "setuser", "app", "<old")
	kill()
	goesOn("with the new password")
	write("") // as a program that has just begun to write it
	kill()
	goesOn("while the file is empty")
	stop.Store(true)
	callers.Wait()
	if n := store.Redis.Stats().Errors["no_auth"]; n > 0 {
		t.Errorf("Redis has refused the password %d times", n)
	}
}

// The client's certificate and key are read again for new connections.
func TestClientCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	s, files := redistest.TLS(t, redistest.Redis)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	copyFile(t, files.Cert, cert)
	copyFile(t, files.Key, key)
	store := testbed.OpenRueidis(t, testbed.Deployment{URL: "rediss://" + s.Addr() + "?ca_file=" + files.CA + "&cert_file=" + cert + "&key_file=" + key}, redisstore.Config{})
	failed := func() (n int) { // of three calls after all connections were closed; the first may still use one of them
		_, _ = s.Do("client", "kill", "type", "normal", "skipme", "yes")
		for range 3 {
			if r := testbed.Take(store, "k", testbed.Hourly); r.Err != nil {
				n++
			}
		}
		return n
	}
	recovers := func(when string) {
		testbed.Until(t, when, func() bool { return failed() < 3 })
	}
	other := tlstest.New(t)
	copyFile(t, other.Cert, cert) // it does not fit the key yet
	recovers("while the files do not fit each other, the last certificate is used")
	copyFile(t, other.Key, key)
	testbed.Until(t, "Redis refuses a certificate of another authority", func() bool { return failed() == 3 })
	copyFile(t, files.Cert, cert)
	copyFile(t, files.Key, key)
	recovers("the first certificate is used again")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

package keyhash_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy/keyhash"
)

const (
	one = "the first secret has 32 bytes or more"
	two = "the second secret has 32 bytes or more"
)

func open(t *testing.T, text string) (*keyhash.File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return keyhash.Open(path)
}

// TestHash checks that a hash contains the first 16 bytes of the key's HMAC-SHA256, so that other programs can compute
// it. It also checks the form of hashes.
func TestHash(t *testing.T) {
	f, err := open(t, one+"\n"+two+"\n")
	if err != nil {
		t.Fatal(err)
	}
	s := f.Secrets()
	// printf %s ann@example.com | openssl dgst -sha256 -hmac "$secret"
	for secret, want := range []string{"hmac:48b16e88fb40c7d4e434d97ecc5c030d", "hmac:2f6e098a11cd9bc5fff9424cd4042c16"} {
		if got := s.Of(secret, "ann@example.com"); got != want {
			t.Errorf("secret %d: %s, want %s", secret, got, want)
		}
	}
	if h := s.Of(0, "k"); !keyhash.Is(h) || s.Of(0, h) != h || string(s.Append(nil, 0, h)) == h {
		t.Errorf("%s: an operator's hash is not hashed again, and a client's key always is", h)
	}
	for _, text := range []string{"", "hmac:", "hmac:0123", "hmac:0123456789abcdef0123456789abcdeX", "HMAC:0123456789abcdef0123456789abcdef"} {
		if keyhash.Is(text) {
			t.Errorf("%q is no hash", text)
		}
	}
}

// TestErrors checks that errors list the accepted values and do not reveal secrets.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "0 secrets; accepted: one, or two different ones, one a line"},
		{one + "\n" + two + "\n" + one + "3", "3 secrets; accepted: one, or two"},
		{one + "\n" + one, "2 secrets; accepted: one, or two different ones"},
		{"short", "a secret of 5 bytes; accepted: 32 to 256"},
		{strings.Repeat("x", 257), "a secret of 257 bytes; accepted: 32 to 256"},
		{one + strings.Repeat("\n", 5000), "accepted: up to 4 KiB"},
	} {
		_, err := open(t, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "first") {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
	if (*keyhash.File)(nil).Secrets() != nil {
		t.Error("without a file there are secrets")
	}
}

// TestReload checks that a new secret is used immediately, and that an invalid file changes nothing.
func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secrets")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(one)
	f, err := keyhash.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	before := f.Secrets().Of(0, "k")
	for _, c := range []struct {
		text    string
		changed bool
		failed  bool
	}{{one + "\n\n", false, false}, {"short", false, true}, {two + "\n" + one, true, false}} {
		write(c.text)
		if changed, err := f.Reload(); changed != c.changed || (err != nil) != c.failed {
			t.Errorf("%.10q: changed %t, %v", c.text, changed, err)
		}
	}
	if s := f.Secrets(); s.Count() != 2 || s.Of(1, "k") != before || s.Of(0, "k") == before {
		t.Error("the secret before is not the second one")
	}
}

func BenchmarkHash(b *testing.B) {
	path := filepath.Join(b.TempDir(), "secrets")
	if err := os.WriteFile(path, []byte(one), 0o600); err != nil {
		b.Fatal(err)
	}
	f, err := keyhash.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	s, buffer := f.Secrets(), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buffer = s.Append(buffer[:0], 0, "ann@example.com")
	}
}

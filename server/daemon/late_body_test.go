package daemon_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate/headgate/server/daemon"
)

// TestRefusedBeforeTheBody (regression: bug 70): a client whose request is rejected gets its answer at once, even if it
// never sends the announced body.
func TestRefusedBeforeTheBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	if err := os.WriteFile(path, []byte("users: {ann: {sha256: [2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90], may: [decide]}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, guarded := running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0"}), running(t, daemon.Config{RESP: daemon.Off, HTTP: "127.0.0.1:0", Users: daemon.UsersFiles{HTTP: path}})
	for _, c := range []struct {
		name, path, header string
		length, want       int
		of                 *daemon.Daemon
	}{
		{"writes are off", "/v1/reset", "", 20, http.StatusForbidden, open},
		{"of a page", "/v1/allow", "Origin: http://page\r\n", 20, http.StatusForbidden, open},
		{"too large", "/v1/allow", "", 2 << 20, http.StatusRequestEntityTooLarge, open},
		{"without a secret", "/v1/allow", "", 20, http.StatusUnauthorized, guarded},
	} {
		conn, err := net.Dial("tcp", c.of.HTTPAddr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", c.path, c.header, c.length)
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_ = r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%s: %d, want %d", c.name, r.StatusCode, c.want)
		}
		_ = conn.Close()
	}
}

package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

func TestNeedsNameEachFieldOfTheRoutes(t *testing.T) {
	config, err := policy.Load("testdata/live.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range Needs(config, "live.yaml") {
		got = append(got, strings.TrimPrefix(n.By, "route ")+" "+n.String())
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{
		"0 (live.yaml:24) the method", "0 (live.yaml:24) the client", "2 (live.yaml:26) the host", "3 (live.yaml:27) the query",
		"5 (live.yaml:29) the header X-User", "5 (live.yaml:29) the header X-Cost", "6 (live.yaml:30) the cookie sid",
		"7 (live.yaml:31) the client", "8 (live.yaml:32) the header x-user",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "9 (live.yaml:33) the host") {
		t.Error("route 9 needs no host")
	}
}

// Behind trusted proxies, a client is known only by the header of the proxies. A log without it would make the whole site
// one key (regression: bug 130).
func TestTrustedProxiesNeedTheirHeader(t *testing.T) {
	combined := `10.0.0.1 - - [22/Nov/2026:14:05:09 +0000] "GET / HTTP/1.1" 200 1 "-" "x"` + "\n"
	main := strings.TrimSpace(combined) + ` "203.0.113.7"` + "\n"
	list := strings.Replace(combined, "10.0.0.1", "203.0.113.7, 10.0.0.1", 1)
	realIP := `{"ts":1795356309,"uri":"/","client_ip":"10.0.0.1","request":{"headers":{"X-Real-Ip":["203.0.113.7"]}}}`
	for _, c := range []struct {
		proxies, key, log string
		missing           bool
	}{
		{"trusted_proxies: [10.0.0.0/8]", "client_ip", combined, true},
		{"trusted_proxies: [10.0.0.0/8]", "client_ip", main, false},
		{"trusted_proxies: [10.0.0.0/8]", "client_ip", list, false},
		{"trusted_proxies: [10.0.0.0/8]\nx_real_ip: true", "client_ip", realIP, false},
		{"trusted_proxies: [10.0.0.0/8]", "{const: all}", combined, false},
		{"trusted_proxies: [127.0.0.1, '::1']", "client_ip", combined, false},
		{"trusted_proxies: []", "client_ip", combined, false},
		{"", "client_ip", combined, false},
	} {
		file := filepath.Join(t.TempDir(), "p.yaml")
		text := c.proxies + "\npolicies: {p: {deny: true}}\nroutes: [{key: [" + c.key + "], policies: [p]}]\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := policy.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		log, err := accesslog.Open([]string{"-"}, strings.NewReader(c.log), accesslog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = log.Want(Needs(config, "p.yaml"))
		log.Close()
		want := fmt.Sprintf("route 0 (p.yaml:%d), with trusted_proxies, needs the header X-Forwarded-For, which", strings.Count(text, "\n"))
		if (err != nil) != c.missing || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s by %s: %v", c.proxies, c.key, err)
		}
	}
}

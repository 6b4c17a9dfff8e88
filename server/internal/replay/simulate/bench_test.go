package simulate

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/internal/replay/accesslog"
)

// BenchmarkReplay replays logs with lines of 200 bytes under one policy, keyed by address.
func BenchmarkReplay(b *testing.B) {
	config, err := policy.Parse("p.yaml", []byte("policies: {p: {algorithm: token-bucket, rate: 1/s, burst: 20}}\nroutes: [{key: [{client_ip: {}}], policies: [p]}]"))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, line string }{
		{"combined", `10.%d.%d.%d - - [%s] "GET /items/%d?page=2 HTTP/1.1" 200 4711 "https://www.example.com/search?q=%d" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"` + "\n"},
		{"caddy", `{"level":"info","logger":"http.log.access","request":{"remote_ip":"10.%d.%d.%d","method":"GET","host":"example.com","uri":"/items"},"ts":"%s","size":%d,"status":200,"duration":0.%d}` + "\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "log")
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			w := bufio.NewWriter(f)
			layout := "02/Jan/2006:15:04:05 -0700"
			if c.name == "caddy" {
				layout = time.RFC3339
			}
			const lines = 300_000
			for i := range lines {
				at := time.Unix(1_800_000_000+int64(i)/100, 0).UTC().Format(layout)
				k := i * 7919 % 100_000
				fmt.Fprintf(w, c.line, k>>16, k>>8&255, k&255, at, i%1000, i)
			}
			w.Flush()
			f.Close()
			for b.Loop() {
				l, err := accesslog.Open([]string{path}, nil, accesslog.Options{})
				if err != nil {
					b.Fatal(err)
				}
				r, err := Run(b.Context(), l, Config{Policies: config, File: "p.yaml", MaxKeys: DefaultMaxKeys})
				l.Close()
				if err != nil || r.Requests != lines {
					b.Fatal(r, err)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

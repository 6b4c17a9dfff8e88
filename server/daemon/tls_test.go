package daemon_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/headgate/headgate/internal/tlstest"
	"github.com/headgate/headgate/policy"
	"github.com/headgate/headgate/server/daemon"
	"github.com/headgate/headgate/server/internal/resp/resptest"
)

// TestTLS checks that every listener accepts TLS clients that have a certificate, including over HTTP/2, and rejects
// others. The connections are counted.
func TestTLS(t *testing.T) {
	files := tlstest.New(t)
	names := policy.TLSFiles{Cert: files.Cert, Key: files.Key, ClientCA: files.CA}
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("an-operator-of-the-test"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, daemon.Config{
		RESP: "127.0.0.1:0", HTTP: "127.0.0.1:0", TLS: daemon.TLS{RESP: names, HTTP: names, GRPC: names, Admin: names},
		GRPC:  daemon.GRPC{Address: "127.0.0.1:0", EnvoyConfig: envoyDirectory(t, envoyFile)},
		Admin: daemon.AdminConfig{Address: "127.0.0.1:0", TokenFile: tokens},
	})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, ctx) }()
	client := files.Client(t)

	conn, err := tls.Dial("tcp", d.RESPAddr().String(), client)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(resptest.AppendCommand(nil, "CL.THROTTLE", "k", "15", "30", "60")); err != nil {
		t.Fatal(err)
	}
	if v, err := resptest.Read(bufio.NewReader(conn)); err != nil || len(v.Items) != 5 {
		t.Errorf("RESP over TLS: %+v, %v", v, err)
	}

	web := &http.Client{Transport: &http.Transport{TLSClientConfig: client.Clone(), ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	r, err := web.Get("https://" + d.HTTPAddr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK || r.ProtoMajor != 2 {
		t.Errorf("HTTP over TLS: %s %s", r.Proto, r.Status)
	}
	if r, err := http.Get("http://" + d.HTTPAddr().String() + "/healthz"); err == nil {
		_ = r.Body.Close()
		if r.StatusCode == http.StatusOK {
			t.Error("HTTP without TLS was answered")
		}
	}
	stranger := client.Clone()
	stranger.Certificates = nil
	if r, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: stranger}}).Get("https://" + d.HTTPAddr().String() + "/healthz"); err == nil {
		_ = r.Body.Close()
		t.Error("a client without a certificate was answered")
	}

	c, err := grpc.NewClient(d.GRPCAddr().String(), grpc.WithTransportCredentials(credentials.NewTLS(client.Clone())))
	if err != nil {
		t.Fatal(err)
	}
	if h, err := healthpb.NewHealthClient(c).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || h.Status != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("gRPC over TLS: %v, %v", h, err)
	}
	_ = c.Close()

	ask, err := http.NewRequest(http.MethodGet, "https://"+d.AdminAddr().String()+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Authorization", "Bearer an-operator-of-the-test")
	if r, err = web.Do(ask); err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("admin over TLS: %s", r.Status)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestCertificateForTheStore (regression: bug 188) checks that the metrics say when the certificate ends that the server
// shows to Redis, also after it was renewed, and while its file cannot be read.
func TestCertificateForTheStore(t *testing.T) {
	files := tlstest.New(t)
	cert := filepath.Join(t.TempDir(), "cert.pem")
	show := func(text []byte) {
		if err := os.WriteFile(cert, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(files.Cert)
	if err != nil {
		t.Fatal(err)
	}
	show(text)
	d := running(t, daemon.Config{
		RESP: daemon.Off, HTTP: "127.0.0.1:0", Admin: daemon.AdminConfig{Address: "127.0.0.1:0"},
		Store: "rediss://127.0.0.1:1?cert_file=" + cert + "&key_file=" + files.Key,
	})
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("headgate_certificate_end_timestamp_seconds{listener=\"store\"} %s\n", strconv.FormatFloat(float64(pair.Leaf.NotAfter.Unix()), 'g', -1, 64))
	for _, now := range [][]byte{text, []byte("half"), text} {
		show(now)
		r, err := http.Get("http://" + d.AdminAddr().String() + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if !strings.Contains(string(body), want) {
			t.Errorf("with the file %.20q: no %s", now, want)
		}
	}
}

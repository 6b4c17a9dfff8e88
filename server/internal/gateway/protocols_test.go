package gateway_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/headgate/headgate/server/internal/gateway"
)

const all = `
policies: {all: {` + hour + `}}
routes: [{key: [{const: all}], policies: [all]}]
`

// echoes accepts a websocket, and echoes its bytes.
func echoes(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "websocket" {
		http.Error(w, "no upgrade", http.StatusBadRequest)
		return
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", "websocket")
	w.WriteHeader(http.StatusSwitchingProtocols)
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = io.Copy(c, buffered)
}

const handshake = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n"

// TestWebsocket checks that the handshake is one request, with its limit and headers, and that bytes then flow both
// ways until the client or the gateway closes.
func TestWebsocket(t *testing.T) {
	g := start(t, all, to(t, upstream(t, echoes)))
	var open [3]net.Conn
	for i := range open {
		c, err := net.Dial("tcp", g.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		open[i] = c
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, handshake)
		reader := bufio.NewReader(c)
		response, err := http.ReadResponse(reader, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols || !strings.HasPrefix(response.Header.Get("Ratelimit"), fmt.Sprintf(`"all";r=%d;`, 2-i)) {
			t.Fatalf("%v %v", response, err)
		}
		defer response.Body.Close()
		for _, text := range []string{"one", "two"} {
			_, _ = io.WriteString(c, text)
			back := make([]byte, 3)
			if _, err := io.ReadFull(reader, back); err != nil || string(back) != text {
				t.Errorf("%q %v", back, err)
			}
		}
	}
	if got := exchange(t, g.address, handshake); !strings.HasPrefix(got, "HTTP/1.1 429 ") {
		t.Errorf("beyond the limit: %q", got)
	}
	open[0].Close()
	until(t, "the client's end ends the request", func() bool { return g.Stats().InFlight == 2 })
	g.Close()
	if n, err := open[1].Read(make([]byte, 1)); n != 0 || err == nil || g.Stats().InFlight != 0 {
		t.Errorf("after Close: %d bytes, %v, %d in flight", n, err, g.Stats().InFlight)
	}
}

// TestStreaming checks that each part of a response's body arrives as soon as it is written, and that the trailers of
// the request and of the response arrive.
func TestStreaming(t *testing.T) {
	next := make(chan struct{})
	g := start(t, all, to(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_, _ = io.WriteString(w, "data: x\n")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("X-Sum", "42 and "+r.Trailer.Get("X-Sent"))
		w.Header().Set(http.TrailerPrefix+"X-Late", "7")
	})))
	body := io.MultiReader(strings.NewReader("body"))
	request, _ := http.NewRequest(http.MethodPost, "http://"+g.address+"/", body)
	request.Trailer = http.Header{"X-Sent": {"sent"}}
	response, err := g.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	for range 3 {
		part := make([]byte, 8)
		if _, err := io.ReadFull(response.Body, part); err != nil || string(part) != "data: x\n" {
			t.Fatalf("%q %v", part, err)
		}
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(response.Body); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
	if response.Trailer.Get("X-Sum") != "42 and sent" || response.Trailer.Get("X-Late") != "7" {
		t.Errorf("trailers %v", response.Trailer)
	}
}

// TestHTTP2 checks that clients can use HTTP/2 in clear text and over TLS, and that upstreams can use it over TLS.
func TestHTTP2(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	g := start(t, all, func(c *gateway.Config) {
		to(t, secure.URL)(c)
		c.UpstreamCAs = x509.NewCertPool()
		c.UpstreamCAs.AddCert(secure.Certificate())
	})
	clear := new(http.Transport)
	clear.Protocols = new(http.Protocols)
	clear.Protocols.SetUnencryptedHTTP2(true)
	g.client.Transport = clear
	defer clear.CloseIdleConnections()
	response, err := g.client.Get("http://" + g.address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.Proto != "HTTP/2.0" || string(body) != "HTTP/2.0" || response.Header.Get("Ratelimit") == "" {
		t.Errorf("%s %q %v", response.Proto, body, response.Header)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- g.server.Serve(tls.NewListener(g.Listen(l), &tls.Config{Certificates: secure.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}))
	}()
	defer func() { g.server.Close(); <-served }()
	client := secure.Client()
	defer client.CloseIdleConnections()
	again, err := client.Get("https://" + l.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	if body, _ := io.ReadAll(again.Body); again.Proto != "HTTP/2.0" || string(body) != "HTTP/2.0" {
		t.Errorf("%s %q", again.Proto, body)
	}
}

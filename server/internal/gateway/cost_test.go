package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/headgate/headgate/server/internal/costtest"
)

// costly contains routes that use every property of a request.
const costly = `
trusted_proxies: [127.0.0.1]
policies: {all: 1000000000/s, none: deny}
routes:
  - {match: {path: /denied}, key: [{const: all}], policies: [none]}
  - {match: {path: "/a/{x}/b/{y}/c"}, key: [{path: x}], policies: [all]}
  - {match: {path: "/when/**", when: '"x-a" in request.headers && request.headers["x-a"].contains("b") && request.query["q"] == "x"'}, key: [client_ip], policies: [all]}
  - {match: {path: "/header/**", header: {X-A: "a*b*c*d"}}, key: [{header: X-A}], policies: [all]}
  - {match: {path: "/query/**", query: {q: "a*b*c*d"}}, key: [{query: q}], policies: [all]}
  - {match: {path: "/**"}, key: [client_ip, {cookie: c}], empty_key: skip, policies: [all]}
  - {match: {path: "/**"}, key: [client_ip], policies: [all]}
`

// TestCostOfRequests (regression: bug 69): a byte of a request to the gateway costs at most costtest.Most times as much as
// a byte of a plain request.
func TestCostOfRequests(t *testing.T) {
	g := start(t, costly, to(t, upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })))
	raw := costtest.Raw(t, g.address, costtest.HTTP)
	request := func(name, line, headers string) costtest.Input { // headers can include an empty line and a body, whose last two bytes are the \r\n added below
		return raw(name, line+" HTTP/1.1\r\nHost: a.example.com\r\n"+headers+"\r\n")
	}
	get := func(name, target, headers string) costtest.Input { return request(name, "GET "+target, headers) }
	lines := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	costtest.Compare(t, get("plain", "/orders/17", "X-User: customer-17\r\n"),
		get("denied", "/denied", ""),
		get("many headers", "/", lines("X%d: 1\r\n", 4000)),
		get("one header many times", "/", strings.Repeat("X-User: 1\r\n", 4000)),
		get("a header of a route many times", "/header/x", lines("X-A: a%d\r\n", 4000)),
		get("a pattern that fails late", "/header/x", "X-A: "+strings.Repeat("ab", 25_000)+"\r\n"),
		get("a query field many times", "/query/x?"+strings.Repeat("q=a&", 12_000), ""),
		get("many query fields", "/query/x?"+lines("q%d=a&", 8000), ""),
		get("a query of escapes", "/query/x?q="+strings.Repeat("%41", 15_000), ""),
		get("a condition on many headers", "/when/x?"+strings.Repeat("q=y&", 6000), strings.Repeat("X-A: a\r\n", 3000)),
		get("a long path", "/"+strings.Repeat("a", 50_000), ""),
		get("many segments", strings.Repeat("/a", 25_000), ""),
		get("many empty segments", strings.Repeat("/", 50_000), ""),
		get("segments that lead up", "/a"+strings.Repeat("/..", 16_000), ""),
		get("a path of escapes", "/"+strings.Repeat("%41", 16_000), ""),
		get("many cookies", "/", "Cookie: "+strings.Repeat("a=b; ", 10_000)+"\r\n"),
		get("the same cookie", "/", "Cookie: "+strings.Repeat("c=; ", 12_000)+"\r\n"),
		get("many forwarded addresses", "/", "X-Forwarded-For: "+strings.Repeat("127.0.0.1,", 5000)+"\r\n"),
		get("many lines of them", "/", strings.Repeat("X-Forwarded-For: 127.0.0.1\r\n", 2000)),
		get("many elements of Forwarded", "/", "Forwarded: "+strings.Repeat("for=127.0.0.1;", 4000)+"\r\n"),
		get("many options of Connection", "/", "Connection: "+strings.Repeat("x,", 25_000)+"\r\n"),
		get("many lines of Connection", "/", strings.Repeat("Connection: x\r\n", 3000)),
		get("Connection that names many headers", "/", "Connection: "+lines("x%d,", 2000)+"\r\n"+lines("X%d: 1\r\n", 2000)),
		get("many trailers", "/", "Transfer-Encoding: chunked\r\nTrailer: "+lines("x%d,", 4000)+"\r\n\r\n0\r\n"),
		get("a long host", "/", "X-Forwarded-Host: "+strings.Repeat("a.", 25_000)+"\r\n"),
		get("a long id", "/", "X-Request-Id: "+strings.Repeat("a", 50_000)+"\r\n"),
		get("an upgrade", "/", "Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
		get("an opaque target", "x:"+strings.Repeat("a", 50_000), ""),
		request("a body", "POST /", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 200_000, strings.Repeat("x", 199_998))),
		request("a body in small chunks", "POST /", "Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1\r\nx\r\n", 10_000)+"0\r\n"),
		request("a denied body", "POST /denied", fmt.Sprintf("Content-Length: %d\r\n\r\n%s", 100_000, strings.Repeat("x", 99_998))),
		request("a denied body in small chunks", "POST /denied", "Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1\r\nx\r\n", 10_000)+"0\r\n"),
	)
}

// TestCostOfHeadersOfHTTP2 (regression: bug 69): HPACK compresses a header of 60 KB to a few bytes. A byte still costs at
// most costtest.Most times as much as a byte of a plain request.
func TestCostOfHeadersOfHTTP2(t *testing.T) {
	g := start(t, costly, to(t, upstream(t, func(http.ResponseWriter, *http.Request) {})))
	get := [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "a.example.com"}, {":path", "/orders/17"}}
	repeated := func(name, value string, n int) (all [][2]string) {
		for range n {
			all = append(all, [2]string{name, value})
		}
		return append(slices.Clone(get), all...)
	}
	costtest.Compare(t, overHTTP2(t, g.address, "plain", append(slices.Clone(get), [2]string{"x-user", "customer-17"})),
		overHTTP2(t, g.address, "a long header many times", repeated("x-a", strings.Repeat("a", 3800), 16)),
		overHTTP2(t, g.address, "a short header many times", repeated("x-a", "a", 1500)),
		overHTTP2(t, g.address, "many cookies", repeated("cookie", "c=", 1500)),
		overHTTP2(t, g.address, "more than a header may have", repeated("x-a", strings.Repeat("a", 3800), 1000)),
	)
}

// dialHTTP2 opens a cleartext HTTP/2 connection, and sends the preface and the settings.
func dialHTTP2(t *testing.T, address string) (net.Conn, *http2.Framer) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	frames := http2.NewFramer(conn, conn)
	_, err = io.WriteString(conn, http2.ClientPreface)
	if err = errors.Join(err, frames.WriteSettings()); err != nil {
		t.Fatal(err)
	}
	return conn, frames
}

// overHTTP2 opens an HTTP/2 connection and returns a request to send on it. It first sends the request once with
// literal fields, so that each later request sends them as indexes into the HPACK table.
func overHTTP2(t *testing.T, address, name string, fields [][2]string) costtest.Input {
	t.Helper()
	conn, frames := dialHTTP2(t, address)
	var block bytes.Buffer
	encoder, stream := hpack.NewEncoder(&block), uint32(1)
	encode := func() []byte {
		block.Reset()
		for _, field := range fields {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		return block.Bytes()
	}
	send := func(header []byte) {
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if err := frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: header, EndHeaders: true, EndStream: true}); err != nil {
			t.Fatal(err)
		}
		for {
			frame, err := frames.ReadFrame()
			if err != nil {
				t.Fatal(err)
			}
			switch frame := frame.(type) {
			case *http2.SettingsFrame:
				if !frame.IsAck() {
					_ = frames.WriteSettingsAck()
				}
			case *http2.GoAwayFrame, *http2.RSTStreamFrame:
				t.Fatalf("%s: %v", name, frame)
			case *http2.HeadersFrame, *http2.DataFrame:
				if frame.Header().StreamID == stream && frame.Header().Flags.Has(http2.FlagDataEndStream) {
					stream += 2
					return
				}
			}
		}
	}
	send(encode()) // with the literal fields
	const frameHeader = 9
	return costtest.Input{Name: name, Size: frameHeader + len(encode()), Send: func() { send(encode()) }}
}

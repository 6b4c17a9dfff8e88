package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// httpConns is the number of client connections to HTTP servers. Each sends one request at a time.
const httpConns = 32

// httpPolicies is a policies file that admits every request in the benchmark.
const httpPolicies = `
policies: {api: {algorithm: token-bucket, rate: 1000000/s, burst: 4000000000}}
routes: [{match: {path: "/**"}, key: [{header: X-User}], policies: [api]}]
`

// gateways compares the gateway with a bare reverse proxy, and two of the server's HTTP paths with a handler that
// sends the same bytes without a decision.
func gateways(ctx context.Context, s settings) (tables []table, err error) {
	dir, err := os.MkdirTemp("", "headgate-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	config := filepath.Join(dir, "policies.yaml")
	if err := os.WriteFile(config, []byte(httpPolicies), 0o600); err != nil {
		return nil, err
	}
	all := starter{ctx: ctx}
	defer func() { stopAll(all.started) }()
	if all.self, err = os.Executable(); err != nil {
		return nil, err
	}
	rows := append(gatewayRow(&all, config), pathRows(&all, config)...)
	if all.err != nil {
		return nil, all.err
	}
	for i := range rows {
		t, err := rows[i].measure(s)
		if err != nil {
			return tables, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// starter starts servers in separate processes. After one fails to start, it keeps the error and starts no more.
type starter struct {
	ctx     context.Context //nolint:containedctx // the group's context
	self    string          // the path of this program
	started []*server
	err     error
}

func (s *starter) start(name string, words ...string) *server {
	if s.err != nil {
		return &server{}
	}
	one, err := startPrinting(exec.CommandContext(s.ctx, name, words...))
	if s.err = err; err != nil {
		return &server{}
	}
	s.started = append(s.started, one)
	return one
}

func gatewayRow(all *starter, config string) []httpRow {
	upstream := "http://" + all.start(all.self, "-http", `{"body":"`+strings.Repeat("x", 128)+`"}`).address
	return []httpRow{{
		title: "The gateway, one policy in memory", reach: 0.85, names: [2]string{"headgate gateway", "httputil.ReverseProxy alone"},
		servers: [2]*server{
			all.start("../../bin/headgate", "gateway", "--config", config, "--upstream", upstream, "--http", "127.0.0.1:0"),
			all.start(all.self, "-http", `{"proxy":"`+upstream+`"}`),
		},
		request: "GET /users/7 HTTP/1.1\r\nHost: a\r\nX-User: %d\r\n\r\n",
	}}
}

func pathRows(all *starter, config string) (rows []httpRow) {
	serving := all.start("../../bin/headgate", "serve", "--config", config, "--resp", "off", "--http", "127.0.0.1:0")
	for _, p := range []struct{ path, request string }{
		{"/v1/authorize", "GET /v1/authorize HTTP/1.1\r\nHost: a\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Host: a\r\nX-Forwarded-Uri: /users/7\r\nX-User: %d\r\n\r\n"},
		{"/v1/allow", "POST /v1/allow HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n" + `{"policy":"api","key":"%08d"}`},
	} {
		if all.err != nil {
			return nil
		}
		same, err := answerOf(serving.address, fmt.Sprintf(p.request, 1))
		if all.err = err; err != nil {
			return nil
		}
		rows = append(rows, httpRow{
			title: p.path + " in memory", reach: 0.7, names: [2]string{"headgate serve", "an empty handler with the same answer"},
			servers: [2]*server{serving, all.start(all.self, "-http", same)}, request: p.request,
		})
	}
	return rows
}

// httpRow is a comparison of two servers that receive the same requests.
type httpRow struct {
	title   string
	reach   float64
	names   [2]string
	servers [2]*server
	request string // with a placeholder for a user's number
}

func (r *httpRow) measure(s settings) (table, error) {
	t, err := beside(s, func(ours bool) (float64, error) {
		if ours {
			return flood(r.servers[0].address, r.request, s.lasts)
		}
		return flood(r.servers[1].address, r.request, s.lasts)
	})
	if err != nil {
		return table{}, fmt.Errorf("%s: %w", r.title, err)
	}
	t.title, t.unit, t.reach = fmt.Sprintf("%s, %d connections", r.title, httpConns), "requests/s", r.reach
	t.lines[0].name, t.lines[1].name = r.names[0], r.names[1]
	return t, nil
}

// flood sends requests from 1000 users on all connections for the given time. It returns the number of responses with
// status 200 per second. It parses as little of a response as possible, so that most of the CPU time is left for the
// server.
func flood(address, request string, lasts time.Duration) (float64, error) {
	users := make([][]byte, 1000)
	for i := range users {
		users[i] = fmt.Appendf(nil, request, i)
	}
	var asked atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, httpConns)
	began := time.Now()
	for n := range httpConns {
		wg.Go(func() {
			c, err := net.Dial("tcp", address)
			if err != nil {
				errs <- err
				return
			}
			defer func() { _ = c.Close() }()
			reader, count := bufio.NewReader(c), int64(0)
			for i := n; time.Since(began) < lasts; i++ {
				if _, err = c.Write(users[i%len(users)]); err == nil {
					err = readAnswer(reader)
				}
				if err != nil {
					errs <- err
					return
				}
				count++
			}
			asked.Add(count)
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(asked.Load()) / time.Since(began).Seconds(), nil
	}
}

var lengthOf = []byte("Content-Length: ")

// readAnswer reads a response to its end. It returns an error if the status is not 200. The response must have a
// Content-Length.
func readAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			return fmt.Errorf("%q", line)
		case bytes.HasPrefix(line, lengthOf):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthOf):]))); err != nil {
				return err
			}
		case len(line) <= 2:
			_, err := r.Discard(length)
			return err
		}
	}
}

// httpServer configures a server that runs in another process of this program.
type httpServer struct {
	// Proxy is the upstream of a reverse proxy. If it is empty, the server responds to each request with Header and
	// Body.
	Proxy  string      `json:"proxy,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   string      `json:"body,omitempty"`
}

// answerOf returns the configuration of a server that sends the same response as the server at the given address.
func answerOf(address, request string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		return "", err
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Body.Close() }()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	if r.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", r.StatusCode, body)
	}
	for _, own := range []string{"Date", "Content-Length"} {
		r.Header.Del(own)
	}
	text, err := json.Marshal(httpServer{Header: r.Header, Body: string(body)})
	return string(text), err
}

// serveHTTP runs the configured server and prints its address.
func serveHTTP(ctx context.Context, text string) error {
	var s httpServer
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	h, err := s.handler()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Fprintf(os.Stdout, "http listening on %s\n", l.Addr())
	return server.Serve(l)
}

func (s *httpServer) handler() (http.Handler, error) {
	if s.Proxy == "" {
		body := []byte(s.Body)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			maps.Copy(w.Header(), s.Header)
			_, _ = w.Write(body)
		}), nil
	}
	to, err := url.Parse(s.Proxy)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.MaxIdleConns = 2*httpConns, 0 // the default of 2 would open new connections all the time
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		p.SetXForwarded()
	}}, nil
}

package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/server/problem"
	"github.com/headgate/headgate/server/requestid"
)

// The bounds of tokens.
const (
	maxTokens     = 2
	minTokenBytes = 16
	maxTokenBytes = 256
	maxTokenFile  = 4 << 10
)

// readTokens reads a token file: one token a line, at most two, so that clients can go from
// one to the next while both are valid. Empty lines do not count.
func readTokens(path string) (tokens []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		token := strings.TrimSpace(line)
		if token == "" {
			continue
		}
		if len(token) < minTokenBytes || len(token) > maxTokenBytes {
			return nil, fmt.Errorf("%s: a token of %d bytes; accepted: %d to %d", path, len(token), minTokenBytes, maxTokenBytes)
		}
		tokens = append(tokens, token)
	}
	if len(data) > maxTokenFile || len(tokens) == 0 || len(tokens) > maxTokens {
		return nil, fmt.Errorf("%s: %d tokens; accepted: one or two, one a line", path, len(tokens))
	}
	return tokens, nil
}

// CheckAddress returns an error for an address off loopback without a token file, and for
// a token file without a valid token.
func CheckAddress(address, tokenFile string) error {
	if tokenFile != "" {
		_, err := readTokens(tokenFile)
		return err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return errors.New("address " + address + " is not on loopback, and there is no token file; accepted: 127.0.0.1, ::1 or localhost, or a token file")
}

// guard refuses calls that do not come from an operator: without a valid token, or sent by
// a web page.
type guard struct {
	tokenFile string // "" asks for no token
	hosts     []string
	log       *refusalLog
	next      http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	status, reason := g.check(r)
	if reason == "" {
		g.next.ServeHTTP(w, r)
		return
	}
	g.log.refused(r, reason)
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="headgate admin"`)
	}
	problem.New(status, "", reason).Write(w)
}

// check returns the status and the reason of a refusal, "" for none.
func (g *guard) check(r *http.Request) (status int, reason string) {
	switch {
	case !g.knownHost(r):
		return http.StatusForbidden, "the Host is not of this server; accepted: its address, localhost, or a name of --admin-host"
	case !sameOrigin(r):
		return http.StatusForbidden, "the Origin is another site; accepted: none, or this server"
	case g.tokenFile == "":
		return 0, ""
	}
	tokens, err := readTokens(g.tokenFile)
	if err != nil {
		return http.StatusUnauthorized, "the token file cannot be used, so that no token is valid"
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || !oneOf(given, tokens) {
		return http.StatusUnauthorized, "there is no valid token; accepted: Authorization: Bearer and a token of the token file"
	}
	return 0, ""
}

// oneOf reports whether a token is valid, in a time that does not depend on what is wrong.
func oneOf(given string, tokens []string) bool {
	found, hash := 0, sha256.Sum256([]byte(given))
	for _, token := range tokens {
		valid := sha256.Sum256([]byte(token))
		found |= subtle.ConstantTimeCompare(hash[:], valid[:])
	}
	return found == 1
}

// knownHost reports whether a request names this server. A web page whose name was made to
// resolve to this address names another host.
func (g *guard) knownHost(r *http.Request) bool {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") || slices.ContainsFunc(g.hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.AddrPort().Addr().Unmap() == ip.Unmap()
}

// sameOrigin reports whether a request comes from no web page, or from one of this server.
func sameOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// refusalLog logs refused calls, at most maxLines in a second, with how many it left out.
type refusalLog struct {
	logger *slog.Logger

	mu    sync.Mutex
	since time.Time
	lines int
	left  int
}

const maxLines = 10

func (l *refusalLog) refused(r *http.Request, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Second {
		l.since, l.lines = now, 0
	}
	if l.lines == maxLines {
		l.left++
		return
	}
	l.lines++
	l.logger.Warn("admin call refused", "reason", reason, "client", r.RemoteAddr, "method", r.Method,
		"path", r.URL.Path[:min(len(r.URL.Path), 128)], "host", r.Host[:min(len(r.Host), 128)], "request_id", requestid.From(r.Context()), "not_logged", l.left)
	l.left = 0
}

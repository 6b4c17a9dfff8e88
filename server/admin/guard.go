package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/headgate/headgate/httplimit"
	"github.com/headgate/headgate/internal/files"
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

// readOnly begins the line of a token that may look, and change nothing.
const readOnly = "read "

// tokens are the valid tokens by what they may do.
type tokens struct{ administer, read []string }

// readTokens reads a token file: one token a line, at most two of each kind, so that
// clients can go from one to the next while both are valid. Empty lines do not count.
func readTokens(path string) (valid tokens, err error) {
	data, err := files.Read(path, maxTokenFile)
	if err != nil {
		return valid, err
	}
	for line := range strings.Lines(string(data)) {
		token, looks := strings.CutPrefix(strings.TrimSpace(line), readOnly)
		if token = strings.TrimSpace(token); token == "" && !looks {
			continue
		}
		if len(token) < minTokenBytes || len(token) > maxTokenBytes {
			return tokens{}, fmt.Errorf("%s: a token of %d bytes; accepted: %d to %d", path, len(token), minTokenBytes, maxTokenBytes)
		}
		if looks {
			valid.read = append(valid.read, token)
			continue
		}
		valid.administer = append(valid.administer, token)
	}
	administer, read := len(valid.administer), len(valid.read)
	if administer+read == 0 || administer > maxTokens || read > maxTokens {
		return tokens{}, fmt.Errorf("%s: %d tokens, and %d that may only read; accepted: one or two of either, one a line", path, administer, read)
	}
	return valid, nil
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

// access is what a caller may do.
type access uint8

const (
	nothing access = iota
	reads
	administers
)

type accessKey struct{}

// accessOf returns what the caller of a request may do.
func accessOf(r *http.Request) access {
	a, _ := r.Context().Value(accessKey{}).(access)
	return a
}

// guard refuses calls that do not come from an operator: without a valid token, or sent by
// a web page of another site. The files of the page itself need no token.
type guard struct {
	tokenFile string // "" asks for no token
	wrong     func(client string)
	hosts     []string
	log       *refusalLog
	page      http.Handler // of requests that isPage reports; nil is none
	next      http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if g.page != nil && isPage(r) && g.knownHost(r) {
		g.page.ServeHTTP(w, r)
		return
	}
	may, status, reason := g.check(r)
	if may != nothing {
		g.next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), accessKey{}, may)))
		return
	}
	g.refuse(w, r, status, reason)
}

// refuse answers a call with a problem, and logs it.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	g.log.refused(r, reason)
	problem.Unread(w, r)
	if status == http.StatusUnauthorized {
		if g.wrong != nil && r.Header.Get("Authorization") != "" {
			g.wrong(r.RemoteAddr)
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="headgate admin"`)
	}
	httplimit.NewProblem(status, "", reason).Write(w)
}

// isPage reports whether a request is for a file of the page, which holds no data. Another
// site may link to it, so that its Origin is not looked at.
func isPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/assets/"))
}

// check returns what a caller may do; of a call that is refused, the status and the reason.
func (g *guard) check(r *http.Request) (may access, status int, reason string) {
	switch {
	case !g.knownHost(r):
		return nothing, http.StatusForbidden, "the Host is not of this server; accepted: its address, localhost, or a name of --admin-host"
	case !sameOrigin(r):
		return nothing, http.StatusForbidden, "the Origin is another site; accepted: none, or this server"
	case g.tokenFile == "":
		return administers, 0, ""
	}
	valid, err := readTokens(g.tokenFile)
	if err != nil {
		return nothing, http.StatusUnauthorized, "the token file cannot be used, so that no token is valid"
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		given = "" // no token is empty
	}
	may = nothing
	if oneOf(given, valid.read) {
		may = reads
	}
	if oneOf(given, valid.administer) {
		may = administers
	}
	if may == nothing {
		return nothing, http.StatusUnauthorized, "there is no valid token; accepted: Authorization: Bearer and a token of the token file"
	}
	return may, 0, ""
}

// administering passes on the calls of callers that may administer, and refuses others.
func (g *guard) administering(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if accessOf(r) == administers {
			next(w, r)
			return
		}
		g.refuse(w, r, http.StatusForbidden, "the token may only read; accepted: a token without \"read\" before it in the token file")
	}
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

package admin

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/lograte"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/users"
)

// CheckAddress returns an error if an address is not on loopback and guarded is false, because every caller could then
// administer.
func CheckAddress(address string, guarded bool) error {
	if guarded {
		return nil
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

// operatorKey is the context key for a call's user. The service does not read it, because operators may use every
// policy.
type operatorKey struct{}

// mayOperate reports whether the caller of an accepted request may change something.
func mayOperate(r *http.Request) bool {
	u, guarded := r.Context().Value(operatorKey{}).(*users.User)
	return !guarded || u.MayOperate()
}

// caller returns the name of an accepted request's user, or "" if the listener needs none.
func caller(r *http.Request) string {
	if u, _ := r.Context().Value(operatorKey{}).(*users.User); u != nil {
		return u.Name
	}
	return ""
}

// guard refuses calls that do not come from a user with the right to read, and calls sent by another site's web page.
// The files of the operators' page need no user.
type guard struct {
	users *users.File // nil lets every caller administer
	wrong func(client string)
	hosts []string
	// lines bounds the log lines about refused calls.
	lines  lograte.Limit
	logger *slog.Logger
	page   http.Handler // for requests that isPage accepts; can be nil
	next   http.Handler
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if g.page != nil && isPage(r) && problem.KnownHost(r, g.hosts) {
		g.page.ServeHTTP(w, r)
		return
	}
	u, status, reason := g.check(r)
	if status != 0 {
		g.refuse(w, r, status, reason)
		return
	}
	if g.users != nil {
		r = r.WithContext(context.WithValue(r.Context(), operatorKey{}, u))
	}
	g.next.ServeHTTP(w, r)
}

// refuse answers a call with a problem, and logs it.
func (g *guard) refuse(w http.ResponseWriter, r *http.Request, status int, reason string) {
	g.refused(r, reason)
	problem.Unread(w, r)
	if status == http.StatusUnauthorized {
		if g.wrong != nil && r.Header.Get("Authorization") != "" {
			g.wrong(r.RemoteAddr)
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="headgate admin"`)
	}
	wire.NewProblem(status, "", reason).Write(w)
}

// refused logs a refused call. A page that has just been opened has no token yet: it learns from its first call that it
// needs one, so this is no warning.
func (g *guard) refused(r *http.Request, reason string) {
	if r.Header.Get("Authorization") == "" && r.Header.Get("Sec-Fetch-Site") == "same-origin" {
		g.logger.Debug("the page has no token yet", "client", r.RemoteAddr, "path", engine.Cut(r.URL.Path), "request_id", requestid.From(r.Context()))
		return
	}
	g.lines.Warn(g.logger, "admin call refused", "reason", reason, "client", r.RemoteAddr, "method", r.Method,
		"path", engine.Cut(r.URL.Path), "host", engine.Cut(r.Host), "request_id", requestid.From(r.Context()))
}

// isPage reports whether a request is for a file of the page, which contains no data. Other sites may link to it, so
// its Origin is not checked.
func isPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/assets/"))
}

// check returns the user of a call, or nil if g.users is nil. If it refuses the call, it returns the status and the
// reason. Otherwise status is 0.
func (g *guard) check(r *http.Request) (u *users.User, status int, reason string) {
	switch {
	case !problem.KnownHost(r, g.hosts):
		return nil, http.StatusForbidden, problem.UnknownHost
	case !sameOrigin(r):
		return nil, http.StatusForbidden, "the Origin is another site; accepted: none, or this server"
	case g.users == nil:
		return nil, 0, ""
	}
	u, err := g.users.Bearer(r.Header.Get("Authorization"))
	switch {
	case err != nil:
		return nil, http.StatusUnauthorized, err.Error()
	case !u.MayRead():
		return nil, http.StatusForbidden, users.ErrMayNotRead.Error()
	default:
		return u, 0, ""
	}
}

// operating returns a handler that forwards calls from users that may operate, and refuses others.
func (g *guard) operating(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if mayOperate(r) {
			next(w, r)
			return
		}
		g.refuse(w, r, http.StatusForbidden, users.ErrMayNotOperate.Error())
	}
}

// sameOrigin reports whether a request comes from this server's page, or not from a web page at all.
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

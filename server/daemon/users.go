package daemon

import (
	"errors"
	"net/http"
	"slices"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/requestid"
	"github.com/headgate/headgate/server/internal/service"
	"github.com/headgate/headgate/server/internal/users"
)

// UsersFiles names the files with each listener's users. If a file's name is "", its listener accepts every client.
type UsersFiles struct{ RESP, HTTP, GRPC string }

// openUsers reads the users files, including the operators' file. Listeners that name the same file share one
// [users.File].
func (d *Daemon) openUsers() error {
	files := map[string]*users.File{}
	open := func(flag, name string, to **users.File) (err error) {
		if name == "" {
			return nil
		}
		f, opened := files[name]
		if !opened {
			f, err = users.Open(name)
			files[name] = f // even after an error, so that the error is reported only once
			d.usersPolicies.add(name, f)
			d.follow(d.logged("users-file", func() (changed bool, err error) {
				defer d.usersPolicies.reloaded()
				return f.Reload()
			}), name)
		}
		*to = f
		return ofFlag(flag, err)
	}
	c := &d.config.Users
	return errors.Join(open("users-file", c.RESP, &d.users.resp), open("users-file", c.HTTP, &d.users.http), open("users-file", c.GRPC, &d.users.grpc), open("admin-token-file", d.config.Admin.TokenFile, &d.users.admin))
}

// guarded holds the users of each listener. A listener whose users are nil admits every client.
type guarded struct{ resp, http, grpc, admin *users.File }

// openPaths lists the API's paths that need no user: the health checks, and authorize, which accepts only trusted
// proxies and receives their clients' Authorization headers.
var openPaths = []string{"/healthz", "/readyz", "/healthcheck", "/v1/authorize"}

// guardHTTP forwards users' requests, and answers others with 401. In a gateway, paths belong to the upstreams, so
// only the gateway's own readiness check needs no user. Secrets are not forwarded to upstreams.
func (d *Daemon) guardHTTP(next http.Handler) http.Handler {
	f, open := d.users.http, openPaths
	if f == nil {
		return next
	}
	if d.gateway != nil {
		open = nil
		if ready := d.config.Gateway.ReadyPath; ready != "" {
			open = []string{ready}
		}
	}
	from := service.HTTP
	if d.gateway != nil {
		from = service.Gateway
	}
	wrong := d.secrets.in(from)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(open, r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		authorization := r.Header.Get("Authorization")
		u, err := f.Bearer(authorization)
		if err != nil {
			if authorization != "" {
				wrong(r.RemoteAddr)
			}
			d.service.Refused(from, service.NoUser)
			problem.Unread(w, r)
			w.Header().Set("WWW-Authenticate", `Bearer realm="headgate"`)
			w.Header().Set(requestid.Header, requestid.Of(r.Header.Get(requestid.Header)))
			wire.NewProblem(http.StatusUnauthorized, "", err.Error()).Write(w)
			return
		}
		if d.gateway != nil {
			r.Header.Del("Authorization")
		}
		next.ServeHTTP(w, r.WithContext(users.With(r.Context(), u)))
	})
}

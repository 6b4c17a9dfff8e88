package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/headgate/headgate/httplimit/wire"
	"github.com/headgate/headgate/policy/decide"
	"github.com/headgate/headgate/policy/route"
	"github.com/headgate/headgate/server/internal/problem"
	"github.com/headgate/headgate/server/internal/service"
)

// maxTarget is the maximum length, in bytes, of the path and query in a request described by a proxy.
const maxTarget = 8 << 10

// authorize decides the request described by the proxy's headers, using the routes.
func (a *api) authorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	problem.Unread(w, r) // a proxy can copy the length of a body that it does not send
	denied, err := deniedStatus(r.URL.Query())
	if err != nil {
		a.refused(service.Undescribed)
		wire.NewProblem(http.StatusBadRequest, "deny", err.Error()).Write(w)
		return
	}
	peer := wire.Peer(r)
	if !a.service.Proxies().Trusts(peer) {
		a.service.RefuseUntrusted(service.HTTP, peer.String())
		status := http.StatusForbidden
		if denied == status {
			status = http.StatusInternalServerError // this proxy interprets 403 as a denial
		}
		wire.NewProblem(status, "", "requests are described by trusted proxies only; accepted: an address in trusted_proxies of the policies file, by default loopback").Write(w)
		return
	}
	if !a.service.HasRoutes() {
		a.refused(service.NoRoutes)
		wire.NewProblem(http.StatusInternalServerError, "", problem.NoRoutes).Write(w)
		return
	}
	described := route.Request{Method: r.Method, Host: r.Host, Header: r.Header, Peer: peer, Size: -1}
	err = describe(&described, r.Header)
	if err == nil {
		err = a.service.Check(&described)
	}
	if err != nil {
		why := service.Malformed // by a client
		if errors.Is(err, errUndescribed) {
			why = service.Undescribed
		}
		a.refused(why)
		wire.NewProblem(http.StatusBadRequest, "", err.Error()).Write(w)
		return
	}
	request, ok := a.service.Route(&described)
	if !ok {
		w.WriteHeader(http.StatusOK)
		return
	}
	var responses [1]decide.Response
	a.service.Do(r.Context(), service.HTTP, []decide.Request{request}, responses[:])
	if p, ok := problem.OfRoute(w.Header(), denied, &request, &responses[0]); !ok {
		a.service.ShareDenial(w.Header(), described.Header)
		p.Write(w)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// deniedStatus returns the status for a denial. nginx turns 429 into 500, but forwards 403.
func deniedStatus(query url.Values) (int, error) {
	switch values := query["deny"]; {
	case len(values) == 0 || len(values) == 1 && values[0] == "429":
		return http.StatusTooManyRequests, nil
	case len(values) == 1 && values[0] == "403":
		return http.StatusForbidden, nil
	default:
		return 0, errors.New("deny is " + strings.Join(values, ", ")[:min(len(strings.Join(values, ", ")), 128)] + "; accepted: 403 or 429")
	}
}

// describe reads the method, the host, the path and the query of another request from the headers of nginx, Traefik,
// Caddy and HAProxy. Two conflicting headers cause an error, because proxies forward clients' headers, so one of the
// two may come from the client.
func describe(r *route.Request, h http.Header) error {
	method, err := one(h, "X-Forwarded-Method", "X-Original-Method")
	if err != nil {
		return err
	}
	if method != "" {
		if !route.IsToken(method) || len(method) > 32 {
			return errors.New("the method that is described is not one; accepted: up to 32 letters")
		}
		r.Method = method
	}
	host, err := one(h, "X-Forwarded-Host")
	if err != nil {
		return err
	}
	found, own := "", r.Host
	for _, name := range []string{"X-Original-Url", "X-Forwarded-Uri", "X-Original-Uri"} {
		target, err := one(h, name)
		switch {
		case err != nil:
			return err
		case target == "":
			continue
		}
		if err := checkTarget(name, target); err != nil {
			return err
		}
		described := *r
		described.Host = own
		if name == "X-Forwarded-Uri" && host != "" {
			described.Host = host
		}
		described.SetTarget(target)
		switch {
		case found == "":
			*r, found = described, name
		case described.Path != r.Path || described.Query != r.Query || !strings.EqualFold(described.Host, r.Host):
			return errors.New(found + " and " + name + " describe different requests; accepted: one of them, or both the same")
		}
	}
	if found == "" {
		return errUndescribed
	}
	return nil
}

// one returns the value of the first header that is present. It returns "" if none is. Conflicting headers cause an
// error.
func one(h http.Header, names ...string) (value string, err error) {
	for _, name := range names {
		for _, other := range h[name] {
			if value != "" && other != value {
				return "", errors.New(strings.Join(names, " and ") + " has more than one value; accepted: one")
			}
			value = other
		}
	}
	return value, nil
}

// errUndescribed is the error for a proxy that sends none of the headers.
var errUndescribed = errors.New("no header describes the request" + acceptedTarget + ", in X-Original-URI, X-Forwarded-Uri or X-Original-URL")

const acceptedTarget = "; accepted: a path such as /users/7?v=2, or a whole URL, of up to 8 KiB"

// checkTarget rejects a target that is neither a path nor a URL.
func checkTarget(name, target string) error {
	u, err := url.ParseRequestURI(target)
	if err != nil || len(target) > maxTarget || !strings.HasPrefix(u.Path, "/") || u.Opaque != "" {
		return errors.New(name + " is not well formed" + acceptedTarget)
	}
	return nil
}

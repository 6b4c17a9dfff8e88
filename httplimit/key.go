package httplimit

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/core"
	"github.com/headgate/headgate/httplimit/wire"
)

// Key returns the key of a request. ok is false if the request lacks its key, for example because a header is
// missing. In that case the response is a 400, unless [WithError] sets another one. The returned key can then name
// the missing part for the [NoKeyError], such as "header X-API-Key". If it is "", the error is [ErrNoKey].
//
// A key is at most 1024 bytes long. A longer key can only come from the client, so it also gets a 400, unless
// [HashLong] shortens it.
type Key func(r *http.Request) (key string, ok bool)

// of returns the key of a request, or the error for a request without one.
func (k Key) of(r *http.Request) (string, error) {
	if r == nil {
		return "", &programError{errNoRequest}
	}
	key, ok := k(r)
	switch {
	case ok:
		return key, nil
	case key != "":
		part, several := strings.CutSuffix(key, unreadable)
		return "", &NoKeyError{Part: part, Unreadable: several, Status: http.StatusBadRequest}
	default:
		return "", ErrNoKey
	}
}

// unreadable ends the name of a part that the request has, but that cannot be read. [Or] does not take such a part for a
// missing one: handlers read the first of several values, so a client could choose another key.
const unreadable = ", which cannot be read"

// only returns the only value of a part, or the part's name.
func only(part string, values []string) (key string, ok bool) {
	switch value, same := core.Only(values); {
	case !same:
		return part + unreadable, false
	case value == "":
		return part, false
	default:
		return value, true
	}
}

// ByIP counts by the client's address, with IPv6 addresses grouped by /64, because a single subscriber has at least a
// /64. An IPv6 address that contains the client's IPv4 address, as with NAT64, Teredo and 6to4, counts as that. If
// requests come through proxies, pass the proxies' addresses: X-Forwarded-For and Forwarded are trusted only from these
// addresses. If none are given, the peer is the client. A peer on a Unix socket is 127.0.0.1; with [Loopback] in
// [ByClient], the proxy at its other end is trusted. It panics if a prefix is invalid, as after an error of
// [netip.ParsePrefix].
func ByIP(trusted ...netip.Prefix) Key {
	return ByClient(Proxies{Networks: trusted})
}

// ByClient is like [ByIP], for proxies that also use other headers.
func ByClient(proxies Proxies) Key {
	for i, network := range proxies.Networks {
		if !network.IsValid() {
			panic("httplimit: network " + strconv.Itoa(i) + " of the proxies is not set; accepted: a prefix such as 10.0.0.0/8 or 10.0.0.1/32")
		}
	}
	return func(r *http.Request) (string, bool) {
		peer := wire.Peer(r)
		client := proxies.Client(peer, r.Header)
		if !client.IsValid() {
			return "client address", false
		}
		if client == peer {
			if text, ok := textOfPeer(r); ok {
				return text, true
			}
		}
		return core.ClientKey(client, 64), true
	}
}

// textOfPeer returns the peer's IPv4 address as it appears in the request, which is its canonical form. ok is false
// for other addresses.
func textOfPeer(r *http.Request) (text string, ok bool) {
	text, _, ok = strings.Cut(r.RemoteAddr, ":")
	return text, ok && strings.IndexByte(text, '.') > 0 && text[0] != '['
}

// ByHeader counts by the value of a header, such as an API key. Validate the value first: a client that can invent
// values gets a fresh limit with each. A header that occurs twice with different values cannot be read: the response is a
// 400, also in [Or]. The scheme of an Authorization header counts in lower case, and Basic's Base64 in its shortest form.
func ByHeader(name string) Key {
	requireName("ByHeader", name)
	name = http.CanonicalHeaderKey(name)
	if name == "Host" {
		panic("httplimit: ByHeader of Host finds none, because net/http moves it to r.Host; accepted: a Key that reads r.Host")
	}
	part := "header " + name
	return func(r *http.Request) (string, bool) {
		key, ok := only(part, r.Header[name])
		if ok && name == "Authorization" {
			if key, ok = core.Authorization(key); !ok {
				return part + unreadable, false
			}
		}
		return key, ok
	}
}

// ByCookie counts by the value of a cookie. Validate the value first: a client that can invent values gets a fresh
// limit with each. A cookie that occurs twice with different values cannot be read, as in [ByHeader]. The value is
// percent-decoded and without white space around it, as gin and fiber read it: a client could otherwise spell one session
// in many ways.
func ByCookie(name string) Key {
	requireName("ByCookie", name)
	return func(r *http.Request) (string, bool) {
		named := r.CookiesNamed(name)
		values := make([]string, len(named))
		for i := range named {
			values[i] = named[i].Value
			if decoded, err := url.PathUnescape(values[i]); err == nil {
				values[i] = decoded
			}
			values[i] = strings.TrimSpace(values[i])
		}
		return only("cookie "+name, values)
	}
}

// ByPathValue counts by a wildcard of the pattern that [http.ServeMux] matched, such as id in /users/{id}. The
// middleware must be inside the mux.
func ByPathValue(name string) Key {
	requireName("ByPathValue", name)
	return func(r *http.Request) (string, bool) {
		if value := r.PathValue(name); value != "" {
			return value, true
		}
		return "path value " + name, false
	}
}

// ByQuery counts by a query parameter, such as a token. Validate the value first: a client that can invent values gets
// a fresh limit with each. A field that occurs twice with different values cannot be read, as in [ByHeader]. Malformed
// pairs of the query are omitted, as in [url.URL.Query], with which handlers read it.
func ByQuery(name string) Key {
	requireName("ByQuery", name)
	return func(r *http.Request) (string, bool) {
		var values []string
		if r.URL != nil { // a server's request has one
			values = r.URL.Query()[name]
		}
		return only("query "+name, values)
	}
}

// HashLong replaces keys longer than 1024 bytes with their SHA-256, so that requests with such keys do not get a 400. It
// also replaces keys that look like such a hash, which is the key of another client. In [Join], shorten the part that can be
// long, as in Join(customer, HashLong(user)): overrides with a pattern and nested shares need the others.
func HashLong(key Key) Key {
	require(key != nil, "the key of HashLong")
	return func(r *http.Request) (string, bool) {
		name, ok := key(r)
		if ok {
			name = core.Shortened(name)
		}
		return name, ok
	}
}

// All counts all requests under one key.
func All() Key {
	return func(*http.Request) (string, bool) { return "all", true }
}

// Join combines several keys, such as address and user. Two requests share a key only if all parts are equal. A request
// that lacks one part lacks the key.
func Join(keys ...Key) Key {
	requireKeys("Join", keys)
	return func(r *http.Request) (string, bool) {
		parts := make([]string, len(keys))
		for i, key := range keys {
			part, ok := key(r)
			if !ok {
				return part, false
			}
			parts[i] = part
		}
		return headgate.Key(parts...), true
	}
}

// Or uses the first of the keys that the request contains. For example, it uses the user or, if the request has no
// user, the address. A request with a key that cannot be read lacks its key.
func Or(keys ...Key) Key {
	requireKeys("Or", keys)
	return func(r *http.Request) (string, bool) {
		for i, key := range keys {
			switch part, ok := key(r); {
			case ok:
				// The index distinguishes a user from an address with the same text.
				return headgate.Key(strconv.Itoa(i), part), true
			case strings.HasSuffix(part, unreadable):
				return part, false
			}
		}
		missing := make([]string, len(keys))
		for i, key := range keys {
			missing[i], _ = key(r)
		}
		return strings.Join(slices.DeleteFunc(missing, func(part string) bool { return part == "" }), " or "), false
	}
}

// requireName panics if the name of the part that a key counts by is empty: every request would lack it.
func requireName(function, name string) {
	if name == "" {
		panic("httplimit: " + function + " has no name; accepted: the name of the part, such as X-API-Key")
	}
}

// requireKeys panics if there are no keys, or if one of them is nil.
func requireKeys(function string, keys []Key) {
	if len(keys) == 0 {
		panic("httplimit: " + function + " has no keys; accepted: 1 or more")
	}
	for i, key := range keys {
		require(key != nil, "key "+strconv.Itoa(i)+" of "+function)
	}
}

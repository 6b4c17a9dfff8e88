// Package redisurl parses the URLs of stores on Redis. It imports no Redis client, so a program can check the URLs of
// a configuration without linking one.
package redisurl

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headgate/headgate/engine"
)

// Address is a parsed URL.
type Address struct {
	Kind Kind
	TLS  bool
	// Hosts contains the servers as host:port, or the path of a socket.
	Hosts              []string
	Master             string // the name of the primary watched by the Sentinels
	Username, Password string
	DB                 int
	// Deadline bounds each call. It is 0 if the URL sets none, and negative if the URL says "deadline=none". Package
	// open and the server use it; stores opened in other ways ignore it.
	Deadline time.Duration
	// Options are the parameters after "?".
	Options url.Values
}

// Kind is the kind of server at an address.
type Kind string

// The kinds of address.
const (
	Server   Kind = ""
	Sentinel Kind = "sentinel"
	Cluster  Kind = "cluster"
	Unix     Kind = "unix"
)

// options lists the accepted parameters after "?".
var options = []string{
	"prefix", "max_in_flight", "shards", "deadline", "db", "password_file", "sentinel_username", "sentinel_password_file",
	"ca_file", "cert_file", "key_file", "server_name",
}

// schemes maps the accepted schemes to the address fields that they imply.
var schemes = map[string]Address{
	"redis": {}, "rediss": {TLS: true}, "valkey": {}, "valkeys": {TLS: true},
	"redis+sentinel": {Kind: Sentinel}, "rediss+sentinel": {Kind: Sentinel, TLS: true},
	"redis+cluster": {Kind: Cluster}, "rediss+cluster": {Kind: Cluster, TLS: true},
	"unix": {Kind: Unix},
}

const acceptedURL = "redis://[user:password@]host[:port][/db], rediss://… for TLS, " +
	"redis+sentinel://host,host/master, redis+cluster://host,host, unix:///path"

// Parse parses a URL. It neither connects to a server nor reads a file. The error is an [*engine.InputError]. Parse
// splits the list of hosts itself, because net/url does not accept one.
func Parse(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	a, known := schemes[scheme]
	if !ok || !known {
		return a, engine.InvalidInput("store", strconv.Quote(Redacted(text)), acceptedURL)
	}
	rest, query, _ := strings.Cut(rest, "?")
	// The last @ ends the user information, because a password may contain an unescaped "/".
	info := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		info, rest = rest[:at], rest[at+1:]
	}
	authority, path := "", rest
	if a.Kind != Unix {
		authority, path, _ = strings.Cut(rest, "/")
	}
	var err error
	if a.Options, err = url.ParseQuery(query); err != nil {
		return a, engine.InvalidInput("store", "a query that cannot be read", "name=value, joined by &")
	}
	for name, values := range a.Options {
		if strings.Contains(name, "@") { // the error does not show the name, because it may be part of a password
			return a, engine.InvalidInput("store", "an @ after a ?", "a ? in a password written %3F")
		}
		if !slices.Contains(options, name) || len(values) != 1 {
			return a, engine.InvalidInput("store", "?"+name+"=", "once each: "+strings.Join(options, ", "))
		}
		if values[0] == "" {
			return a, engine.InvalidInput("store", "?"+name+"= without a value", "a value, or no "+name)
		}
	}
	if err := a.deadline(); err != nil {
		return a, err
	}
	if err := a.user(info); err != nil {
		return a, err
	}
	if err := a.place(authority, path); err != nil {
		return a, err
	}
	return a, nil
}

// MaxDeadline is the longest deadline of a call.
const MaxDeadline = time.Minute

// deadline parses the deadline of calls.
func (a *Address) deadline() (err error) {
	switch text := a.Options.Get("deadline"); text {
	case "":
	case "none":
		a.Deadline = -1
	default:
		if a.Deadline, err = engine.ParseSpan(text); err != nil || a.Deadline < time.Millisecond || a.Deadline > MaxDeadline {
			return engine.InvalidInput("store", "a URL with a deadline out of range", "?deadline=50ms: 1ms to 1m, or none") // the error does not show the value, because a ? may be in a password
		}
	}
	return nil
}

// Redacted returns a URL for logs, without user and password. It removes the text between the scheme and the last @.
func Redacted(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://…" + text[at:]
	}
	return text
}

// user parses user and password.
func (a *Address) user(info string) (err error) {
	name, password, _ := strings.Cut(info, ":")
	if a.Username, err = url.PathUnescape(name); err == nil {
		a.Password, err = url.PathUnescape(password)
	}
	switch {
	case err != nil:
		return engine.InvalidInput("store", "a user or password with a bad escape", "%XX for special bytes")
	case a.Password != "" && a.Options.Has("password_file"):
		return engine.InvalidInput("store", "a URL with a password beside a password file", "one of them")
	}
	return nil
}

// place parses the hosts, the database and the name of the primary.
func (a *Address) place(authority, path string) error {
	if a.Kind == Unix {
		a.Hosts = []string{path}
		if path == "" {
			return engine.InvalidInput("store", `""`, "unix:///path/of/the/socket")
		}
		return a.database(a.Options.Get("db"))
	}
	port := "6379"
	if a.Kind == Sentinel {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" {
			return engine.InvalidInput("store", strconv.Quote(authority), "a host, or several joined by commas")
		}
		withPort, err := hostPort(host, port)
		if err != nil {
			return err
		}
		a.Hosts = append(a.Hosts, withPort)
	}
	db := a.Options.Get("db")
	switch a.Kind {
	case Sentinel:
		if path == "" {
			return engine.InvalidInput("store", "no master", "redis+sentinel://host,host/master")
		}
		a.Master = path
	case Cluster:
		if path != "" || db != "" {
			return engine.InvalidInput("store", "a database", "none: a Cluster has only one")
		}
	default:
		if len(a.Hosts) > 1 {
			return engine.InvalidInput("store", strconv.Quote(authority), "one host; several with redis+sentinel:// or redis+cluster://")
		}
		if path != "" && db != "" && path != db {
			return engine.InvalidInput("store", "database "+strconv.Quote(path)+" and ?db="+db, "one of them, or both the same")
		}
		if path != "" {
			db = path
		}
	}
	return a.database(db)
}

// hostPort returns a host with its port, or with the given port if it has none. An IPv6 address needs brackets only if
// it has a port. The error is an [*engine.InputError].
func hostPort(host, port string) (string, error) {
	full := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		full = net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), port)
	}
	h, p, err := net.SplitHostPort(full)
	n, bad := strconv.Atoi(p)
	if err != nil || bad != nil || n < 1 || n > 65535 || h == "" || strings.Contains(h, ":") && net.ParseIP(h) == nil {
		return "", engine.InvalidInput("store", strconv.Quote(host), "host:port, the port 1 to 65535; [v6 address]:port")
	}
	return full, nil
}

func (a *Address) database(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<20 {
		return engine.InvalidInput("store", "database "+strconv.Quote(text), "0 to 1048576")
	}
	a.DB = n
	return nil
}

// Schemes lists the beginnings of the URLs, for error texts.
const Schemes = "redis://, rediss://, redis+sentinel://, redis+cluster://, unix://"

// Known reports whether the URL's scheme is for a store on Redis.
func Known(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	_, known := schemes[scheme]
	return ok && known
}

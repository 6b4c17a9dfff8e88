package rueidisadapter

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/headgate/headgate"
)

// address is a store's URL, taken apart.
type address struct {
	kind     string // "", "sentinel", "cluster", "unix"
	tls      bool
	hosts    []string // host:port, or the socket's path
	master   string
	username string
	password string
	db       int
	options  url.Values
}

// options are the parameters that a URL may have after "?".
var options = []string{
	"prefix", "max_in_flight", "shards", "db", "password_file", "sentinel_username", "sentinel_password_file",
	"ca_file", "cert_file", "key_file", "server_name",
}

// schemes are what a URL may begin with.
var schemes = map[string]address{
	"redis": {}, "rediss": {tls: true}, "valkey": {}, "valkeys": {tls: true},
	"redis+sentinel": {kind: "sentinel"}, "rediss+sentinel": {kind: "sentinel", tls: true},
	"redis+cluster": {kind: "cluster"}, "rediss+cluster": {kind: "cluster", tls: true},
	"unix": {kind: "unix"},
}

const acceptedURL = "redis://[user:password@]host[:port][/db], rediss://… for TLS, " +
	"redis+sentinel://host,host/master, redis+cluster://host,host, unix:///path"

func invalid(field, value, accepted string) error {
	return &headgate.InputError{Field: field, Value: value, Accepted: accepted}
}

// Check returns a [*headgate.InputError] for a URL that [Open] would refuse, without
// asking a server or reading a file.
func Check(url string) error {
	_, err := parse(url)
	return err
}

// parse takes a URL apart. Hosts are a list, which net/url does not allow, so it
// sees the rest only.
func parse(text string) (address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	a, known := schemes[scheme]
	if !ok || !known {
		return a, invalid("store", strconv.Quote(redacted(text)), acceptedURL)
	}
	rest, query, _ := strings.Cut(rest, "?")
	// The last @ ends the user, so that a password with a bare "/" is still one.
	info := ""
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		info, rest = rest[:at], rest[at+1:]
	}
	authority, path := "", rest
	if a.kind != "unix" {
		authority, path, _ = strings.Cut(rest, "/")
	}
	var err error
	if a.options, err = url.ParseQuery(query); err != nil {
		return a, invalid("store", "a query that cannot be read", "name=value, joined by &")
	}
	for name, values := range a.options {
		if strings.Contains(name, "@") { // not shown: it ends a password
			return a, invalid("store", "an @ behind a ?", "a ? in a password written %3F")
		}
		if !slices.Contains(options, name) || len(values) != 1 {
			return a, invalid("store", "?"+name+"=", "once each: "+strings.Join(options, ", "))
		}
	}
	if err := a.user(info); err != nil {
		return a, err
	}
	if err := a.place(authority, path); err != nil {
		return a, err
	}
	return a, a.files()
}

// redacted hides what may be a password.
func redacted(text string) string {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		scheme, _, _ := strings.Cut(text, "://")
		return scheme + "://…" + text[at:]
	}
	return text
}

func (a *address) user(info string) (err error) {
	name, password, _ := strings.Cut(info, ":")
	if a.username, err = url.PathUnescape(name); err == nil {
		a.password, err = url.PathUnescape(password)
	}
	if err != nil {
		return invalid("store", "a user or password with a bad escape", "%XX for special bytes")
	}
	return nil
}

// place finds the hosts, the database and the master's name.
func (a *address) place(authority, path string) error {
	if a.kind == "unix" {
		a.hosts = []string{path}
		if path == "" {
			return invalid("store", `""`, "unix:///path/of/the/socket")
		}
		return a.database(a.options.Get("db"))
	}
	port := "6379"
	if a.kind == "sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" {
			return invalid("store", strconv.Quote(authority), "a host, or several joined by commas")
		}
		withPort, err := hostPort(host, port)
		if err != nil {
			return err
		}
		a.hosts = append(a.hosts, withPort)
	}
	db := a.options.Get("db")
	switch a.kind {
	case "sentinel":
		if path == "" {
			return invalid("store", "no master", "redis+sentinel://host,host/master")
		}
		a.master = path
	case "cluster":
		if path != "" || db != "" {
			return invalid("store", "a database", "none: a Cluster has only one")
		}
	default:
		if len(a.hosts) > 1 {
			return invalid("store", strconv.Quote(authority), "one host; several with redis+sentinel:// or redis+cluster://")
		}
		if path != "" {
			db = path
		}
	}
	return a.database(db)
}

// hostPort adds the port where there is none. A v6 address with a port stands in
// brackets; alone it need not.
func hostPort(host, port string) (string, error) {
	full := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		full = net.JoinHostPort(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), port)
	}
	h, p, err := net.SplitHostPort(full)
	n, bad := strconv.Atoi(p)
	if err != nil || bad != nil || n < 1 || n > 65535 || h == "" || strings.Contains(h, ":") && net.ParseIP(h) == nil {
		return "", invalid("store", strconv.Quote(host), "host:port, the port 1 to 65535; [v6 address]:port")
	}
	return full, nil
}

func (a *address) database(text string) error {
	if text == "" {
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<20 {
		return invalid("store", "database "+strconv.Quote(text), "0 to 1048576")
	}
	a.db = n
	return nil
}

// files reads the passwords.
func (a *address) files() (err error) {
	if name := a.options.Get("password_file"); name != "" {
		a.password, err = secret(name)
	}
	return err
}

// secretBytes is the length of the longest password in a file.
const secretBytes = 4096

// secret reads a password from a file; a newline at its end is not part of it.
func secret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, secretBytes+1))
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	if len(data) > secretBytes {
		return "", invalid("password_file", strconv.Quote(name), "a file of up to 4096 bytes")
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// tlsConfig returns the TLS settings of a URL, nil where it has none.
func (a *address) tlsConfig() (*tls.Config, error) {
	ca, cert, key := a.options.Get("ca_file"), a.options.Get("cert_file"), a.options.Get("key_file")
	if !a.tls {
		if ca != "" || cert != "" || key != "" || a.options.Get("server_name") != "" {
			return nil, invalid("store", "TLS files", "rediss://, rediss+sentinel:// or rediss+cluster:// with them")
		}
		return nil, nil //nolint:nilnil // no TLS
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: a.options.Get("server_name")}
	if ca != "" {
		data, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, errors.New("ca_file: no certificate in " + strconv.Quote(ca))
		}
	}
	if (cert == "") != (key == "") {
		return nil, invalid("store", "one of cert_file and key_file", "both or none")
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert_file, key_file: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// Scheme reports whether URLs of a scheme, such as "redis+cluster", are opened
// here.
func Scheme(scheme string) bool {
	_, known := schemes[scheme]
	return known
}

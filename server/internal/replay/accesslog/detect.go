package accesslog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// reader reads the lines of one format.
type reader interface {
	read(line string, q *Request) error
	fields() Fields
	want(headers, cookies map[string]bool)
}

// formats are the named format strings. Lines may contain extra fields at the end.
var formats = []struct{ name, about, text string }{
	{traefikFormat, "Traefik's common log", `$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $count "$router" "$service" ${duration}ms`},
	{"main", "nginx's main: combined with X-Forwarded-For", `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for"`},
	{"combined", "combined of nginx and Apache", `$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`},
	{"vhost_combined", "Apache's vhost_combined", `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`},
	{"common", "common of Apache", `%h %l %u %t "%r" %>s %b`},
	{"alb", "AWS Application Load Balancer", `$type $time_iso8601 $elb $remote_addr $target $request_processing_time $target_processing_time $response_processing_time $status $target_status $received_bytes $sent_bytes "$request" "$http_user_agent"`},
	{"haproxy", "HAProxy's httplog", haproxyLog},
	{"haproxy", "HAProxy's httplog, by syslog", `$syslog]: ` + haproxyLog},
}

// haproxyLog is the format of HAProxy's option httplog. Captured headers are read as part of the queues. The times lack
// a time zone.
const haproxyLog = `$remote_addr [$time_local] $frontend $backend $timers $status $sent_bytes $request_cookie $response_cookie $termination $connections $queues "$request"`

// The names of formats that consist of named fields.
const (
	caddyFormat = "caddy"
	envoyFormat = "envoy"
	jsonFormat  = "json"
	csvFormat   = "csv"

	traefikFormat    = "traefik"
	cloudflareFormat = "cloudflare"
)

// fieldFormats are the names of the formats with named fields.
var fieldFormats = []string{caddyFormat, envoyFormat, traefikFormat, cloudflareFormat, jsonFormat, csvFormat}

// FormatAccepted lists the values that --format accepts.
const FormatAccepted = "main, combined, vhost_combined, common, alb, haproxy, caddy, envoy, traefik, cloudflare, json, csv, or a whole format string of nginx ($remote_addr …) or Apache (%h …)"

// parseFormat returns the template for a format string in the syntax of nginx or Apache. If more is true, lines may
// contain extra text at the end.
func parseFormat(text string, more bool) (t *template, err error) {
	if strings.Contains(text, "$") {
		t, err = parseNginx(text)
	} else {
		t, err = parseApache(text)
	}
	if err != nil {
		return nil, err
	}
	t.more = more
	return t, nil
}

// taken is the reader chosen for a file, with a description of its format.
type taken struct {
	reader

	about string // human-readable
	skip  int    // number of lines before the first request
	empty bool   // the file is empty, so its format is unknown
}

// choose returns the format of a file: the requested format, or the format that matches most of the first lines. In a
// tie the earlier format wins.
func (o *Options) choose(first []string) (taken, error) {
	named, err := parseFields(o.Fields)
	if err != nil {
		return taken{}, err
	}
	if named != nil && o.Format != "" && !slices.Contains(fieldFormats, o.Format) {
		return taken{}, fieldError(o.Fields[0], "with JSON and CSV; --format "+engine.Quote(o.Format)+" names its fields itself")
	}
	if strings.ContainsAny(o.Format, "$%") {
		t, err := parseFormat(o.Format, false)
		return taken{reader: t, about: "the format of --format"}, err
	}
	best, most := taken{}, 0
	for _, f := range formats {
		if o.Format != "" && o.Format != f.name || o.Format == "" && named != nil {
			continue
		}
		t, err := parseFormat(f.text, true)
		if err != nil {
			return taken{}, err
		}
		if n := count(t, first); n > most || f.name == o.Format && best.reader == nil && !slices.Contains(fieldFormats, f.name) {
			best, most = taken{reader: t, about: f.about}, n
		}
	}
	if best.reader != nil {
		return best, nil
	}
	return o.chooseFields(named, first)
}

// chooseFields returns a reader for lines of JSON or CSV. The argument named holds the fields from --field.
func (o *Options) chooseFields(named []column, first []string) (taken, error) {
	if o.Format != "" && !slices.Contains(fieldFormats, o.Format) {
		return taken{}, fmt.Errorf("--format %q: accepted: %s", o.Format, FormatAccepted)
	}
	if len(first) == 0 {
		return taken{}, fmt.Errorf("the first line is longer than %d bytes; accepted: a log whose first lines show its format", MaxLine)
	}
	if o.Format != csvFormat && (o.Format != "" || strings.HasPrefix(first[0], "{")) {
		j, err := newJSON(named, first)
		if err != nil {
			return taken{}, err
		}
		return taken{reader: j, about: jsonAbout(j) + ": " + j.String()}, nil
	}
	if o.Format == csvFormat || named != nil || looksLikeCSV(first) {
		c, err := newCSV(named, first[0])
		if err != nil {
			return taken{}, fmt.Errorf("read as CSV, whose first line names the columns: %w", err)
		}
		return taken{reader: c, about: "CSV: " + c.String(), skip: 1}, nil
	}
	return taken{}, fmt.Errorf("no format is known that reads %s; name it with --format: %s", engine.Quote(first[0]), FormatAccepted+"; or name the columns of CSV and the fields of JSON with --field")
}

// jsonAbout describes the format of JSON lines, such as "JSON of Caddy". It recognizes the format by its fields.
func jsonAbout(j *jsonLines) string {
	switch {
	case strings.Contains(j.String(), "EdgeStartTimestamp"):
		return "JSON of Cloudflare"
	case strings.Contains(j.String(), "DownstreamStatus"):
		return "JSON of Traefik"
	case j.any != nil:
		return "JSON of Caddy"
	case strings.Contains(j.String(), "downstream_remote_address") || strings.Contains(j.String(), "authority"):
		return "JSON of Envoy"
	default:
		return "lines of JSON"
	}
}

// looksLikeCSV reports whether the first line names a column for the time and one for the path.
func looksLikeCSV(first []string) bool {
	_, err := newCSV(nil, first[0])
	return err == nil
}

// count returns the number of lines that match a format.
func count(r reader, lines []string) (n int) {
	for _, line := range lines {
		q := Request{}
		if r.read(line, &q) == nil {
			n++
		}
	}
	return n
}

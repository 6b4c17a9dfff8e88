package accesslog

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
)

// reader reads the lines of one format.
type reader interface {
	read(line string, q *Request) error
	// fields returns the fields that the lines can have, or those that the lines which were read had.
	fields(read bool) Fields
	want(headers, cookies map[string]bool)
}

// format is a format string with a name, in the syntax of nginx or Apache.
type format struct {
	name, about, text string
	// hashes is true if #XX in quotes stands for a byte, and a backslash for itself.
	hashes bool
}

// formats are the named format strings. A format with more fields is before those with fewer. Lines may contain extra
// fields at the end.
var formats = []format{
	{name: "main", about: "nginx's main: combined with X-Forwarded-For", text: combinedLog + ` "$http_x_forwarded_for"`},
	{name: "vhost_combined", about: "Apache's vhost_combined", text: `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`},
	{name: "combined", about: "combined of nginx and Apache", text: combinedLog},
	{name: "common", about: "common of Apache", text: `%h %l %u %t "%r" %>s %b`},
	// Captured headers are read as part of the queues.
	{name: "haproxy", about: "HAProxy's httplog", text: `$remote_addr [$time_local] $frontend $backend $timers $status $sent_bytes $request_cookie $response_cookie $termination $connections $queues "$request"`, hashes: true},
}

// combinedLog is the format combined of nginx. Apache's has the same lines.
const combinedLog = `$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`

func (f *format) parse() (*template, error) {
	t, err := parseFormat(f.text, true)
	if t != nil {
		t.hashes = f.hashes
	}
	return t, err
}

// jsonFormat is the format of lines of JSON, whose fields have names.
const jsonFormat = "json"

// FormatAccepted lists the values that --format accepts.
const FormatAccepted = "main, combined, vhost_combined, common, haproxy, json, or a whole format string of nginx ($remote_addr …) or Apache (%h …)"

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
	empty bool   // the file is empty, so its format is unknown
}

// choose returns the format of a file: the requested format, or the one that its first lines have.
func (o *Options) choose(first []string) (taken, error) {
	if strings.ContainsAny(o.Format, "$%") {
		t, err := parseFormat(o.Format, false)
		return taken{reader: t, about: "the format of --format"}, err
	}
	if len(first) == 0 && o.Format == "" {
		return taken{}, fmt.Errorf("the first line is longer than %d bytes; accepted: a log whose first lines show its format", MaxLine)
	}
	messages, bySyslog := messagesIn(first)
	var format taken
	switch template, lines, err := o.chooseTemplate(messages); {
	case err != nil:
		return taken{}, err
	case o.Format == jsonFormat || o.Format == "" && lines < objects(messages):
		j, err := newJSON(messages)
		if err != nil {
			return taken{}, err
		}
		format = taken{reader: j, about: "lines of JSON: " + j.String()}
	case template.reader == nil:
		return taken{}, fmt.Errorf("no format is known that reads %s; name it with --format: %s; or convert the log to lines of JSON", engine.Quote(messages[0]), FormatAccepted)
	default:
		format = template
	}
	if bySyslog {
		format.reader, format.about = carried{format.reader}, format.about+", by syslog"
	}
	return format, nil
}

// chooseTemplate returns the first format, and so the one with the most fields, that reads nearly as many of the first
// lines as any other, because a few lines can be cut off. It also returns the highest number of lines that a format
// reads. The reader is nil if no format reads any line, unless Options.Format names it.
func (o *Options) chooseTemplate(first []string) (best taken, most int, err error) {
	var all []taken
	var counts []int
	for i := range formats {
		f := &formats[i]
		if o.Format != "" && o.Format != f.name {
			continue
		}
		t, err := f.parse()
		if err != nil {
			return taken{}, 0, err
		}
		n := t.count(first)
		all, counts, most = append(all, taken{reader: t, about: f.about}), append(counts, n), max(most, n)
	}
	if all == nil && o.Format != jsonFormat {
		return taken{}, 0, fmt.Errorf("--format %q: accepted: %s", o.Format, FormatAccepted)
	}
	for i, n := range counts {
		if n > 0 && nearly(n, most) || most == 0 && o.Format != "" {
			return all[i], most, nil
		}
	}
	return taken{}, 0, nil
}

// nearly reports whether n lines are nearly all of most: at least 90 % of them, or in a short log all but one.
func nearly(n, most int) bool {
	return most-n <= max(1, most/10) && 2*n > most
}

// objects returns the number of lines that are JSON objects.
func objects(lines []string) (n int) {
	for _, line := range lines {
		if isObject(line) {
			n++
		}
	}
	return n
}

// count returns the number of lines that match the format. It also finds out whether clients are lists of addresses.
func (t *template) count(lines []string) (n int) {
	for _, line := range lines {
		q := Request{}
		if t.read(line, &q) == nil {
			n++
		}
	}
	return n
}

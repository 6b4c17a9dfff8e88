package accesslog

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// carried reads lines that another program wrote: syslog, or the runtime of a container. Each has the server's own line
// as its message.
type carried struct{ reader }

func (c carried) read(line string, q *Request) error {
	message, _ := messageIn(line)
	return c.reader.read(message, q)
}

// The programs that carry the lines of servers, as descriptions of formats have them.
const (
	bySyslog    = "by syslog"
	inContainer = "in the log of a container"
)

// messagesIn returns the messages in the lines, and the program that wrote most of the lines. If there is none, it
// returns the lines and "".
func messagesIn(lines []string) (messages []string, carrier string) {
	n := 0
	for _, line := range lines {
		message, by := messageIn(line)
		if messages = append(messages, message); by != "" {
			carrier = by
			n++
		}
	}
	if 2*n <= len(lines) {
		return lines, ""
	}
	return messages, carrier
}

// messageIn returns the message in a line, and the program that wrote the line, or the line and "".
func messageIn(line string) (message, carrier string) {
	if message, ok := containerMessage(line); ok {
		return message, inContainer
	}
	if message, ok := syslogMessage(line); ok {
		return message, bySyslog
	}
	return line, ""
}

// streams are the beginnings of a line in a log of Kubernetes, after its time.
var streams = []string{"stdout F ", "stderr F ", "stdout P ", "stderr P "}

// containerMessage returns the message in a line of a container's log, as Kubernetes writes it, or Docker with its driver
// json-file.
func containerMessage(line string) (message string, ok bool) {
	if strings.HasPrefix(line, `{"log":"`) && gjson.Valid(line) {
		return strings.TrimSuffix(gjson.Get(line, "log").Str, "\n"), true
	}
	at, rest, _ := strings.Cut(line, " ")
	i := slices.IndexFunc(streams, func(stream string) bool { return strings.HasPrefix(rest, stream) })
	if i < 0 || !isISO(at) {
		return "", false
	}
	return rest[len(streams[i]):], true
}

// syslogMessage returns the message in a line of syslog: RFC 5424, or RFC 3164 with its usual variants, with or without
// the priority. If the line is not from syslog, it returns the line.
func syslogMessage(line string) (message string, ok bool) {
	rest := line
	if priority, after, found := strings.Cut(rest, ">"); found && len(priority) <= 4 && strings.HasPrefix(priority, "<") && onlyDigits(priority[1:]) {
		rest = after
	}
	if after, found := strings.CutPrefix(rest, "1 "); found {
		message, ok = rfc5424(after)
	} else {
		message, ok = rfc3164(rest)
	}
	if !ok {
		return line, false
	}
	return message, true
}

// rfc5424 parses the fields after the version: time, host, program, process, message id, structured data and message.
func rfc5424(rest string) (message string, ok bool) {
	at, rest, _ := strings.Cut(rest, " ")
	if !isISO(at) && at != "-" {
		return "", false
	}
	for range 4 {
		if _, rest, ok = strings.Cut(rest, " "); !ok {
			return "", false
		}
	}
	rest, ok = strings.CutPrefix(rest, "-")
	for !ok && strings.HasPrefix(rest, "[") {
		end := structuredEnd(rest)
		if end < 0 {
			return "", false
		}
		rest = rest[end:]
		ok = strings.HasPrefix(rest, " ")
	}
	message, spaced := strings.CutPrefix(rest, " ")
	return strings.TrimPrefix(message, mark), ok && spaced
}

// structuredEnd returns the index after an element of structured data, or -1. Values are in quotes, where a backslash
// escapes the next byte.
func structuredEnd(text string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return i + 1
		}
	}
	return -1
}

// rfc3164 parses a time (Nov 22 14:05:09, or ISO 8601), the host, and the program up to a colon.
func rfc3164(rest string) (message string, ok bool) {
	const stamped = len("Nov 22 14:05:09")
	if at, after, found := strings.Cut(rest, " "); found && isISO(at) {
		rest = after
	} else if len(rest) > stamped && isStamp(rest[:stamped]) && rest[stamped] == ' ' {
		rest = rest[stamped+1:]
	} else {
		return "", false
	}
	_, rest, _ = strings.Cut(rest, " ")
	program, message, ok := strings.Cut(rest, ": ")
	return message, ok && program != "" && !strings.Contains(program, " ")
}

// isStamp reports whether a text is a time of RFC 3164.
func isStamp(text string) bool {
	_, err := time.Parse(time.Stamp, text)
	return err == nil
}

// isISO reports whether a text is a time with a date in ISO 8601.
func isISO(text string) bool {
	if len(text) < 19 || text[4] != '-' {
		return false
	}
	_, ok := stampISO(text)
	return ok
}

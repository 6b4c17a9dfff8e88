package accesslog

import "regexp"

// carried reads lines that syslog wrote. Each has the server's own line as its message.
type carried struct{ reader }

func (c carried) read(line string, q *Request) error {
	message, _ := messageIn(line)
	return c.reader.read(message, q)
}

// isoTime matches a time in ISO 8601.
const isoTime = `\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-][\d:]+)?`

// heads are what syslog writes before a message, by RFC 5424 or RFC 3164 with its usual variants, with or without the
// priority.
var heads = []*regexp.Regexp{
	regexp.MustCompile(`^(?:<\d{1,3}>)?1 (?:` + isoTime + `|-) \S+ \S+ \S+ \S+ (?:-|(?:\[(?:"(?:\\.|[^"\\])*"|[^"\]])*\])+) \x{FEFF}?`),
	regexp.MustCompile(`^(?:<\d{1,3}>)?(?:` + isoTime + `|[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d) \S+ \S+: `),
}

// messagesIn returns the messages in the lines if syslog wrote most of the lines. Otherwise it returns the lines.
func messagesIn(lines []string) (messages []string, bySyslog bool) {
	n := 0
	for _, line := range lines {
		message, found := messageIn(line)
		if messages = append(messages, message); found {
			n++
		}
	}
	if 2*n <= len(lines) {
		return lines, false
	}
	return messages, true
}

// messageIn returns the message in a line that syslog wrote, or any other line.
func messageIn(line string) (message string, bySyslog bool) {
	for _, head := range heads {
		if found := head.FindStringIndex(line); found != nil {
			return line[found[1]:], true
		}
	}
	return line, false
}

package accesslog

import (
	"regexp"
	"strings"

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

// isoTime matches a time in ISO 8601.
const isoTime = `\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-][\d:]+)?`

// heads are what a carrier writes before a message: Kubernetes, and syslog by RFC 5424 or RFC 3164 with its usual
// variants, with or without the priority.
var heads = []struct {
	carrier string
	head    *regexp.Regexp
}{
	{inContainer, regexp.MustCompile(`^` + isoTime + ` (?:stdout|stderr) [FP] `)},
	{bySyslog, regexp.MustCompile(`^(?:<\d{1,3}>)?1 (?:` + isoTime + `|-) \S+ \S+ \S+ \S+ (?:-|(?:\[(?:"(?:\\.|[^"\\])*"|[^"\]])*\])+) \x{FEFF}?`)},
	{bySyslog, regexp.MustCompile(`^(?:<\d{1,3}>)?(?:` + isoTime + `|[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d) \S+ \S+: `)},
}

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
	if strings.HasPrefix(line, `{"log":"`) && gjson.Valid(line) { // Docker with its driver json-file
		return strings.TrimSuffix(gjson.Get(line, "log").Str, "\n"), inContainer
	}
	for i := range heads {
		if found := heads[i].head.FindStringIndex(line); found != nil {
			return line[found[1]:], heads[i].carrier
		}
	}
	return line, ""
}

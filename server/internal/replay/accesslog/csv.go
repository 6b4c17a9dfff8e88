package accesslog

import (
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
)

// csvLines reads lines of CSV. Each record is one line, so quoted values cannot contain line breaks.
type csvLines struct {
	columns

	separator byte
	count     int
	values    []string
}

// newCSV returns a reader for a file with the given header: column names separated by commas, semicolons or tabs.
func newCSV(named []column, header string) (*csvLines, error) {
	c := &csvLines{separator: ','}
	for _, other := range []byte(";\t") {
		if strings.Count(header, string(other)) > strings.Count(header, string(c.separator)) {
			c.separator = other
		}
	}
	titles, err := splitCSV(nil, header, c.separator)
	if err != nil {
		return nil, err
	}
	for i := range titles {
		titles[i] = strings.TrimSpace(titles[i])
	}
	c.count = len(titles)
	if err := c.choose(named, func(name string) bool { return slices.Contains(titles, name) }); err != nil {
		return nil, err
	}
	for i := range c.all {
		at := &c.all[i]
		if at.place = slices.Index(titles, at.from); at.place < 0 {
			return nil, engine.InvalidInput("field", engine.Quote(at.from), "one of the columns "+strings.Join(titles, ", "))
		}
	}
	return c, nil
}

func (c *csvLines) read(line string, q *Request) (err error) {
	if c.values, err = splitCSV(c.values[:0], line, c.separator); err != nil {
		return err
	}
	if len(c.values) != c.count {
		return engine.InvalidInput("line", engine.Quote(line), "as many values as the first line has names")
	}
	hasTime := false
	for i := range c.all {
		at := &c.all[i]
		value := c.values[at.place]
		if value == "" || !at.needed() {
			continue
		}
		if err := c.set(&at.variable, value, q); err != nil {
			return err
		}
		hasTime = hasTime || at.part == partTime
	}
	return complete(q, hasTime)
}

// splitCSV appends the values in a line to values. Within a quoted value, two quotes represent one.
func splitCSV(values []string, line string, separator byte) ([]string, error) {
	for {
		if !strings.HasPrefix(line, `"`) {
			end := strings.IndexByte(line, separator)
			if end < 0 {
				return append(values, line), nil
			}
			values, line = append(values, line[:end]), line[end+1:]
			continue
		}
		value, rest, err := quotedCSV(line[1:])
		if err != nil {
			return values, err
		}
		values = append(values, value)
		if rest == "" {
			return values, nil
		}
		if rest[0] != separator {
			return values, engine.InvalidInput("line", engine.Quote(rest), "a separator after a value in quotes")
		}
		line = rest[1:]
	}
}

// quotedCSV reads the rest of a value after its opening quote.
func quotedCSV(text string) (value, rest string, err error) {
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		if i+1 < len(text) && text[i+1] == '"' {
			i++
			continue
		}
		return strings.ReplaceAll(text[:i], `""`, `"`), text[i+1:], nil
	}
	return "", "", engine.InvalidInput("line", engine.Quote(text), "a quote at the end of a value in quotes")
}

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
	texts     []string
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
	return c, c.title(named, titles)
}

// title chooses the columns by their titles.
func (c *csvLines) title(named []column, titles []string) error {
	c.count = len(titles)
	find := func(name string) string {
		if i := titled(titles, name); i >= 0 {
			return titles[i]
		}
		return ""
	}
	if err := c.choose(named, find); err != nil {
		return err
	}
	for i := range c.all {
		at := &c.all[i]
		if at.place = slices.Index(titles, at.from); at.place < 0 && at.named {
			return engine.InvalidInput("field", engine.Quote(at.from), "one of the columns "+strings.Join(titles, ", "))
		}
	}
	return nil
}

// titled returns the index of the column with a name, or -1.
func titled(titles []string, name string) int {
	return slices.IndexFunc(titles, func(title string) bool { return name != "" && fold(title) == fold(name) })
}

func (c *csvLines) fields() Fields {
	return c.columnFields(func(at *column) bool { return at.place >= 0 })
}

// unseen returns false, because the first line names all columns.
func (*csvLines) unseen(*Need) (from string, none bool) { return "", false }

func (c *csvLines) read(line string, q *Request) (err error) {
	if c.texts, err = splitCSV(c.texts[:0], line, c.separator); err != nil {
		return err
	}
	return c.record(line, q)
}

func (c *csvLines) record(line string, q *Request) error {
	if len(c.texts) != c.count {
		return engine.InvalidInput("line", engine.Quote(line), "as many values as the first line has names")
	}
	c.reset()
	for i := range c.all {
		if at := &c.all[i]; at.place >= 0 && c.texts[at.place] != "" {
			c.found(i, at.rank, c.texts[at.place])
		}
	}
	return c.store(q)
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

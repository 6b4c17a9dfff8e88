package accesslog

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/headgate/headgate/policy/route"
)

// w3cLines reads the extended log format of the W3C, as IIS and CloudFront write it: values separated by blanks or tabs,
// named by a directive #Fields. A server writes the directives again whenever it starts, possibly with other fields.
type w3cLines struct {
	csvLines

	from             []column // from --field
	headers, cookies map[string]bool
	date             int // index of the date, which the time is joined with, or -1
	time             int
}

const w3cFields = "#Fields:"

// errDirective is the error for a line that is neither a request nor bad.
var errDirective = errors.New("a directive")

// newW3C returns a reader for lines that the given directive describes.
func newW3C(named []column, directive string) (*w3cLines, error) {
	w := &w3cLines{from: named}
	return w, w.direct(directive)
}

// direct changes the columns to those of a directive #Fields.
func (w *w3cLines) direct(directive string) error {
	titles := strings.Fields(strings.TrimPrefix(directive, w3cFields))
	named := slices.Clone(w.from)
	for _, title := range titles {
		name, ok := strings.CutPrefix(strings.TrimSuffix(title, ")"), "cs(")
		known := slices.ContainsFunc(columnParts, func(p columnPart) bool { return titled(p.also, title) >= 0 })
		if ok && route.IsToken(name) && !known {
			named = append(named, column{variable: variable{part: partHeader, name: canonical(name)}, from: title, names: []string{title}, place: -1})
		}
	}
	if err := w.title(named, titles); err != nil {
		return err
	}
	w.date, w.time = slices.Index(titles, "date"), slices.Index(titles, "time")
	w.want(w.headers, w.cookies)
	return nil
}

func (w *w3cLines) want(headers, cookies map[string]bool) {
	w.headers, w.cookies = headers, cookies
	w.csvLines.want(headers, cookies)
}

func (w *w3cLines) read(line string, q *Request) error {
	if strings.HasPrefix(line, "#") {
		if strings.HasPrefix(line, w3cFields) {
			if err := w.direct(line); err != nil {
				return err
			}
		}
		return errDirective
	}
	tabs := strings.IndexByte(line, '\t') >= 0
	separator := " "
	if tabs {
		separator = "\t"
	}
	w.texts = w.texts[:0]
	for text := range strings.SplitSeq(line, separator) {
		if text == "-" {
			text = ""
		}
		w.texts = append(w.texts, text)
	}
	if w.date >= 0 && w.time >= 0 && len(w.texts) == w.count {
		w.texts[w.time] = w.texts[w.date] + " " + w.texts[w.time]
	}
	for i := range w.all {
		if at := &w.all[i]; at.part == partHeader && at.place >= 0 && at.place < len(w.texts) {
			w.texts[at.place] = w3cText(w.texts[at.place], tabs)
		}
	}
	return w.record(line, q)
}

// w3cText decodes the text of a header: IIS writes a blank as +, and CloudFront encodes it like a URL.
func w3cText(text string, encoded bool) string {
	if !encoded {
		return strings.ReplaceAll(text, "+", " ")
	}
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

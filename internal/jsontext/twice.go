package jsontext

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxNames bounds the names of one object that are compared, and so the time. No object
// of an API here has as many fields: a longer one has an unknown field and is rejected.
const maxNames = 64

// unescape returns a name without its escapes: "\u0061" is a.
func unescape(name []byte) (text string) {
	if bytes.IndexByte(name, '\\') < 0 || json.Unmarshal([]byte(`"`+string(name)+`"`), &text) != nil {
		return string(name)
	}
	return text
}

// Twice returns a name that stands twice in one object. Names that differ in case
// alone are equal, as for encoding/json. Of two values encoding/json would take the last;
// another reader, such as a proxy that checks the body, may take the first. data is valid
// JSON.
func Twice(data []byte) (name string, found bool) {
	var open [][]string    // the names of each object around the position
	name, quoted := "", -1 // the last string, and where it begins while inside it
	for i := 0; i < len(data); i++ {
		c := data[i]
		if quoted >= 0 {
			switch c {
			case '\\':
				i++
			case '"':
				name, quoted = unescape(data[quoted:i]), -1
			}
			continue
		}
		switch c {
		case '"':
			quoted = i + 1
		case '{', '[':
			open = append(open, nil)
		case '}', ']':
			open = open[:len(open)-1]
		case ':':
			names := &open[len(open)-1]
			for _, other := range *names {
				if strings.EqualFold(other, name) {
					return name, true
				}
			}
			if len(*names) < maxNames {
				*names = append(*names, name)
			}
		}
	}
	return "", false
}

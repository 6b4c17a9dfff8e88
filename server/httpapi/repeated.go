package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"
)

// tracked is how many names of one object are compared. No object of this API has so
// many fields; one that has more is refused for an unknown one.
const tracked = 64

// written returns a name as it is read: "\u0061" is a.
func written(name []byte) (read string) {
	if bytes.IndexByte(name, '\\') < 0 || json.Unmarshal([]byte(`"`+string(name)+`"`), &read) != nil {
		return string(name)
	}
	return read
}

// repeated returns a name that an object has twice, as encoding/json compares them:
// whatever their case. It would take the last, and other readers the first. data is
// valid JSON.
func repeated(data []byte) (name string, ok bool) {
	var open [][]string    // the names of each object that is open
	name, quoted := "", -1 // the last string, and where it begins while it is read
	for i := 0; i < len(data); i++ {
		c := data[i]
		if quoted >= 0 {
			switch c {
			case '\\':
				i++
			case '"':
				name, quoted = written(data[quoted:i]), -1
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
			if len(*names) < tracked {
				*names = append(*names, name)
			}
		}
	}
	return "", false
}

package respapi

import (
	"bytes"
	"strings"
)

// classSyntax is the syntax of a request's class.
const classSyntax = " [CLASS class]"

// cutClass removes CLASS and a class from the end of a command. The argument others is the minimum number of words
// that must precede them.
func cutClass(words [][]byte, others int) (rest [][]byte, class string) {
	last := len(words) - 2
	if last < others || !bytes.EqualFold(words[last], []byte("class")) {
		return words, ""
	}
	return words[:last], strings.Clone(text(words[last+1]))
}

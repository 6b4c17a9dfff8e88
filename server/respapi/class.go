package respapi

import (
	"bytes"
	"strings"
)

// classSyntax is how a command names the class of its request.
const classSyntax = " [CLASS class]"

// cutClass cuts CLASS and a class from the end of a command that has at least so many other words.
func cutClass(words [][]byte, others int) (rest [][]byte, class string) {
	last := len(words) - 2
	if last < others || !bytes.EqualFold(words[last], []byte("class")) {
		return words, ""
	}
	return words[:last], strings.Clone(text(words[last+1]))
}

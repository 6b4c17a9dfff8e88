package respapi

import (
	"bytes"

	"github.com/headgate/headgate/engine/algo"
)

// outcomesSyntax is the syntax of the outcomes of earlier requests.
const outcomesSyntax = " [OUTCOMES good bad retry_after_ms]"

// cutOutcomes removes OUTCOMES and its numbers from the end of a command. If the command has none, r is nil and the
// words stay unchanged. The argument others is the minimum number of words that must precede them.
func cutOutcomes(words [][]byte, others int) (rest [][]byte, r *algo.Report, err error) {
	at := len(words) - 4
	if at < others || !bytes.EqualFold(words[at], []byte("outcomes")) {
		return words, nil, nil
	}
	var numbers [3]int64
	for i, field := range algo.ReportFields {
		if numbers[i], err = parseInt(field.Name, words[at+1+i], 0, field.Most); err != nil {
			return nil, nil, err
		}
	}
	return words[:at], algo.ReportOf(numbers), nil
}

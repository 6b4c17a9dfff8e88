package respapi

import (
	"bytes"

	"github.com/headgate/headgate/engine/algo"
)

// outcomesSyntax is the syntax for outcomes of earlier requests.
const outcomesSyntax = " [OUTCOMES good bad retry_after_ms]"

// cutOutcomes removes OUTCOMES and its numbers from the end of a command with at least that many other words.
func cutOutcomes(words [][]byte, others int) (rest [][]byte, r *algo.Report, err error) {
	at := len(words) - 4
	if at < others || !bytes.EqualFold(words[at], []byte("outcomes")) {
		return words, nil, nil
	}
	r = &algo.Report{}
	for i, field := range []struct {
		name string
		to   *int64
		most int64
	}{{"good", &r.Good, algo.MaxReported}, {"bad", &r.Bad, algo.MaxReported}, {"retry_after_ms", &r.Pause, maxRetryAfter}} {
		if *field.to, err = parseInt(field.name, words[at+1+i], 0, field.most); err != nil {
			return nil, nil, err
		}
	}
	r.Pause *= 1000
	return words[:at], r, nil
}

const maxRetryAfter = algo.MaxReportedPause / 1000 // in ms

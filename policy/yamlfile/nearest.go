package yamlfile

import (
	"strings"

	"github.com/headgate/headgate/engine"
)

// maxGuess is the maximum length of the names that Nearest compares.
const maxGuess = 64

// DidYouMean returns the question about the most similar name, to be followed by the accepted names, or "" if none is
// similar.
func DidYouMean(given string, names []string) string { return engine.DidYouMean(Nearest(given, names)) }

// Guess is the question of [DidYouMean] for the end of a message: "; did you mean …?", or "".
func Guess(given string, names []string) string { return Question(Nearest(given, names)) }

// Question is [Guess] for a name that was already found.
func Question(meant string) string {
	if meant == "" {
		return ""
	}
	return "; " + strings.TrimSpace(engine.DidYouMean(meant))
}

// Nearest returns the name with the fewest edits from given. An edit inserts, deletes or replaces a letter, or swaps
// two adjacent letters. Singular instead of plural, as in "policy" for "policies", is also one edit. Among equally
// similar names, Nearest returns the alphabetically first.
//
// A name counts as similar if it is at most two edits from the given text, and at most one edit for every three letters
// of that text. If the given text has only one or two letters, no name counts as similar. If no name is similar, but
// exactly one begins with the given text of two or more letters, Nearest returns that name. Otherwise it returns "".
func Nearest(given string, names []string) string {
	lower := strings.ToLower(given)
	switch {
	case len(given) < 2 || len(given) > maxGuess:
		return ""
	case len(given) == 2:
		return beginsWith(lower, names)
	}
	best, least := "", min(2, len(given)/3)+1
	for _, name := range names {
		if len(name) > maxGuess || name == given || max(len(name), len(given))-min(len(name), len(given)) > 2 {
			continue
		}
		d := distance(lower, strings.ToLower(name))
		if singular(lower) == singular(name) {
			d = 1
		}
		if d < least || d == least && best != "" && name < best {
			best, least = name, d
		}
	}
	if best == "" {
		best = beginsWith(lower, names)
	}
	return best
}

// beginsWith returns the only name that begins with text. It returns "" if no name or more than one name does.
func beginsWith(text string, names []string) (only string) {
	for _, name := range names {
		switch {
		case !strings.HasPrefix(strings.ToLower(name), text):
		case only != "":
			return ""
		default:
			only = name
		}
	}
	return only
}

func singular(name string) string {
	if stem, ok := strings.CutSuffix(name, "ies"); ok {
		return stem + "y"
	}
	return name
}

// distance returns the number of edits between two strings: the optimal string alignment distance, in bytes.
func distance(a, b string) int {
	var rows [3][maxGuess + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

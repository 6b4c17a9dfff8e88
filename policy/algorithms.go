package policy

import (
	"slices"
	"strings"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine/algo"
)

// fileAlgorithms are the algorithms that a file or a JSON request can name.
var fileAlgorithms = []algo.Algorithm{algo.TokenBucket, algo.Pacer, algo.FixedWindow, algo.SlidingWindow, algo.SlidingLog, algo.WarmUp, algo.Concurrency}

// bucketAliases are other names of the token bucket. engine.ParseAlgorithm reads them.
var bucketAliases = []string{"gcra", "leaky-bucket", "funnel"}

// namesOf returns the names of an algorithm, its own first.
func namesOf(a algo.Algorithm) []string {
	if a == algo.TokenBucket {
		return slices.Concat([]string{a.String()}, bucketAliases)
	}
	return []string{a.String()}
}

// allNames returns the names of all algorithms in a file, aliases included.
func allNames() (names []string) {
	for _, a := range fileAlgorithms {
		names = append(names, namesOf(a)...)
	}
	return names
}

// hasRate reports whether limits of the algorithm have a rate. The others have a limit
// and a window, or windows; a concurrency limit has a limit alone.
func hasRate(a algo.Algorithm) bool {
	return a == algo.TokenBucket || a == algo.Pacer || a == algo.WarmUp
}

// algorithmAccepted is what an error says where no algorithm, or an unknown one, is named.
var algorithmAccepted = acceptedAlgorithms() + "; or deny: true, unlimited: true, all: [...]"

// holds reports whether units of the limit are held, by acquire and release, and not
// taken. No policy can have both kinds of limits, because no verb is for both.
func holds(limit headgate.Limit) bool { return limit.Algorithm() == algo.Concurrency }

// takes reports whether units of the limit are taken.
func takes(limit headgate.Limit) bool {
	return !holds(limit) && limit.Rates() != nil
}

func acceptedAlgorithms() string {
	var texts []string
	for _, a := range fileAlgorithms {
		text := a.String()
		if aliases := namesOf(a)[1:]; len(aliases) > 0 {
			text += " (" + strings.Join(aliases, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

package policy

import (
	"slices"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// fileAlgorithms are the algorithms that a file or a JSON request can name.
var fileAlgorithms = slices.DeleteFunc(algo.Algorithms(), algo.Algorithm.Constant)

// allNames returns the names of all algorithms that a file can name, including aliases.
func allNames() (names []string) {
	for _, a := range fileAlgorithms {
		names = append(names, a.Names()...)
	}
	return names
}

// algorithmAccepted is the list of accepted values in errors about a missing or unknown algorithm.
var algorithmAccepted = acceptedAlgorithms() + "; or deny: true, unlimited: true, all: [...]"

// holds reports whether the limit's units are acquired and released instead of taken. A policy cannot mix the two
// kinds, because no verb applies to both.
func holds(limit engine.Limit) bool { return limit.Algorithm().Holds() }

// holds reports whether a limit of the policy is a concurrency limit.
func (p *Policy) holds() bool {
	return slices.ContainsFunc(p.members, func(m member) bool { return holds(m.limit) })
}

// takes reports whether requests take units of the limit. It is false for a concurrency limit, deny and unlimited.
func takes(limit engine.Limit) bool {
	return !holds(limit) && limit.Rates() != nil
}

func acceptedAlgorithms() string {
	var texts []string
	for _, a := range fileAlgorithms {
		text := a.String()
		if aliases := a.Names()[1:]; len(aliases) > 0 {
			text += " (" + strings.Join(aliases, ", ") + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

package engine

import "strings"

// DefaultSpace is the namespace of limits without a policy.
const DefaultSpace = "headgate"

const policyPrefix, candidateSuffix = "policy:", ":shadow"

// PolicySpace returns the namespace of a policy's counters.
func PolicySpace(policy string) string { return policyPrefix + policy }

// CandidateSpace returns the namespace of the counters of a policy's candidate. No policy uses this namespace, because
// policy names contain no colon.
func CandidateSpace(policy string) string { return PolicySpace(policy) + candidateSuffix }

// PolicyOf returns the policy whose counters, or whose candidate's counters, are in a namespace. A limiter's own
// namespace may precede it. ok is false if there is no such policy.
func PolicyOf(space string) (policy string, ok bool) {
	_, policy, ok = strings.Cut(space, policyPrefix)
	return strings.TrimSuffix(policy, candidateSuffix), ok
}

const policyNameAccepted = "1 to 64 letters, digits, _, . and -, the first a letter, digit or _"

// CheckPolicyName returns an [*InputError] for a name that no policy can have.
func CheckPolicyName(name string) error {
	valid := name != "" && len(name) <= 64 && !strings.ContainsAny(name[:1], ".-")
	for i := 0; i < len(name) && valid; i++ {
		c := name[i]
		valid = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0
	}
	if !valid {
		return invalid("name", name, policyNameAccepted)
	}
	return nil
}

// Invalid returns an invalid limit with the reason as its Err.
func Invalid(reason error) Limit { return Limit{spec: &spec{err: reason}} }

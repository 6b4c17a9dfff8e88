package engine

import "strings"

// DefaultSpace is the name space of limits that belong to no policy.
const DefaultSpace = "headgate"

// PolicySpace returns the name space of a policy's counters.
func PolicySpace(policy string) string { return "policy:" + policy }

const policyNameAccepted = "1 to 64 letters, digits, _, . and -, the first a letter, digit or _"

// CheckPolicyName returns an [*InputError] for a name that no policy can have.
func CheckPolicyName(name string) error {
	valid := name != "" && len(name) <= 64 && !strings.ContainsAny(name[:1], ".-")
	for i := 0; i < len(name) && valid; i++ {
		c := name[i]
		valid = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-", c) >= 0
	}
	if !valid {
		return invalid("policy", name, policyNameAccepted)
	}
	return nil
}

// Invalid returns a limit whose Err is the reason.
func Invalid(reason error) Limit { return Limit{spec: &spec{err: reason}} }

package route

import (
	"strconv"
	"strings"
)

// Cost is the cost of a request. The zero value means each policy's own cost.
type Cost struct {
	// Set is true if the cost is Units.
	Set   bool
	Units int64
	// Header is the name of the header with the cost, or "".
	Header string
	// Max is the highest cost that a header can set.
	Max int64
}

// of returns the cost of a request. If the header is missing or empty, given is false and the policies' own costs
// apply. A number above Max counts as Max, and 0 counts as 1. A negative number, a value that is not a number and
// several values that differ also count as Max, so that an invalid value is never cheaper than an honest one.
func (c *Cost) of(v *view) (units int64, given bool) {
	if c.Header == "" {
		return c.Units, c.Set
	}
	text, readable := v.header(c.Header)
	if text = strings.TrimSpace(text); !readable {
		return c.Max, true
	} else if text == "" {
		return 0, false
	}
	units, err := strconv.ParseInt(text, 10, 64)
	if err != nil || units < 0 || units > c.Max {
		return c.Max, true
	}
	return max(units, 1), true
}

// String returns a description of the cost, or "" if each policy has its own cost.
func (c *Cost) String() string {
	switch {
	case c.Header != "":
		return "header " + c.Header + ", at most " + strconv.FormatInt(c.Max, 10)
	case c.Set:
		return strconv.FormatInt(c.Units, 10)
	default:
		return ""
	}
}

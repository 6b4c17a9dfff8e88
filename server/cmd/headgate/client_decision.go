package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/headgate/headgate/server/internal/respclient"
)

// decision is the JSON form of the answer to allow and peek. Limit and Remaining are omitted if no limit applies.
// RetryAfter is omitted if the request is allowed, and null if it can never pass.
type decision struct {
	Allowed    bool            `json:"allowed"`
	Unlimited  bool            `json:"unlimited,omitempty"`
	Limit      *int64          `json:"limit,omitempty"`
	Remaining  *int64          `json:"remaining,omitempty"`
	RetryAfter json.RawMessage `json:"retry_after_s,omitempty"`
	ResetAfter int64           `json:"reset_after_s"`
	Delay      int64           `json:"delay_ms"`
	Paid       string          `json:"paid,omitempty"` // the charged limit of a policy with "first"

	text string // the line for text output
}

// readDecision parses the six integers of HEADGATE.ALLOW and, for a policy with "first", the charged limit.
func readDecision(v rueidis.RedisMessage) (d decision, err error) {
	n, rest, err := respclient.Integers(v, 6)
	if err != nil {
		return d, err
	}
	d = decision{
		Allowed: n[0] == 0, Unlimited: n[1] < 0, Limit: unlessUnlimited(n[1]), Remaining: unlessUnlimited(n[2]), ResetAfter: n[4], Delay: n[5],
	}
	verdict, retry, delay, paid := "allowed", "", "", ""
	if !d.Allowed {
		verdict, retry, d.RetryAfter = "denied", "never", json.RawMessage("null")
		if n[3] >= 0 {
			d.RetryAfter = json.RawMessage(strconv.FormatInt(n[3], 10))
			retry = string(d.RetryAfter) + "s"
		}
		retry = " retry_after=" + retry
	}
	if d.Delay > 0 {
		delay = fmt.Sprintf(" delay=%dms", d.Delay)
	}
	if len(rest) > 0 {
		if d.Paid, err = rest[0].ToString(); err != nil {
			return d, err
		}
		paid = " paid=" + d.Paid
	}
	d.text = fmt.Sprintf("%s limit=%s remaining=%s%s reset_after=%ds%s%s", verdict, orUnlimited(n[1]), orUnlimited(n[2]), retry, d.ResetAfter, delay, paid)
	return d, nil
}

// print prints the decision. It returns exitDenied if the request was denied.
func (d *decision) print(w io.Writer, output outputFlag) error {
	var err error
	if output.json() {
		err = writeJSON(w, d)
	} else {
		_, err = fmt.Fprintln(w, d.text)
	}
	if err == nil && !d.Allowed {
		return exitDenied
	}
	return err
}

// orUnlimited formats a number. A negative number means that no limit applies.
func orUnlimited(n int64) string {
	if n < 0 {
		return "unlimited"
	}
	return strconv.FormatInt(n, 10)
}

// unlessUnlimited returns a pointer to a number. It returns nil if the number is negative.
func unlessUnlimited(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

package decide

import (
	"strings"

	"github.com/headgate/headgate/policy"
)

// CountedBy describes the key of the binding limit, such as "header X-API-Key". It is "" for requests that match no
// route, and for routes with one charge.
func (r *Request) CountedBy(answer *Response) string {
	c := answer.Bound()
	if r.Route == nil || c == nil || !r.listed() {
		return ""
	}
	return strings.Join(policy.SummarizeCharge(&r.Route.Route.Charges[c.FirstItem()]).Key, ", ")
}

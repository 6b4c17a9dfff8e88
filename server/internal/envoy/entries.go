package envoy

import (
	"strconv"
	"strings"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/headgate/headgate/engine/algo"
)

// These are the entry keys of descriptors that describe the request and are not counted. Each such entry is the only
// one in its descriptor, because Envoy omits a descriptor whose header is missing. The limits of the other
// descriptors then still apply.
const (
	classKey    = "class"
	outcomesKey = "outcomes"
)

// valueOf returns the value of the first descriptor whose only entry has the given key. It returns "" if none exists.
func valueOf(request *pb.RateLimitRequest, key string) string {
	for _, d := range request.GetDescriptors() {
		if entries := d.GetEntries(); len(entries) == 1 && entries[0].GetKey() == key {
			return entries[0].GetValue()
		}
	}
	return ""
}

// outcomesOf returns the outcomes that a request reports as "good/bad" or "good/bad/retry_after_ms". It returns nil if
// there are none. An unreadable value is ignored. If it were an error, clients that can set the value could cause
// answers without a decision, which Envoy may treat as allowed.
func outcomesOf(request *pb.RateLimitRequest) *algo.Report {
	all := strings.Split(valueOf(request, outcomesKey), "/")
	if len(all) == 2 {
		all = append(all, "0")
	}
	if len(all) != 3 {
		return nil
	}
	var numbers [3]int64
	for i, field := range algo.ReportFields {
		n, err := strconv.ParseInt(all[i], 10, 64)
		if err != nil || n < 0 || n > field.Most {
			return nil
		}
		numbers[i] = n
	}
	return algo.ReportOf(numbers)
}

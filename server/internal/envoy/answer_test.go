package envoy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/headgate/headgate/policy"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// In these tests the clock is set to 2026-01-01 00:00:00 UTC, the start of a minute, an hour and a day.

// TestDeniedHitsAreCounted checks that hits beyond the limit are counted, as in envoyproxy/ratelimit, so that
// afterwards even a smaller number of hits is denied.
func TestDeniedHitsAreCounted(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 5}}]")
	f.want("OK: OK 2/5 60s", "a=1 x3")
	f.want("OVER_LIMIT: OVER_LIMIT 0/5 60s", "a=1 x3")
	f.want("OVER_LIMIT: OVER_LIMIT 0/5 60s", "a=1 x0")
	f.clock.Advance(1500 * time.Millisecond)
	f.want("OVER_LIMIT: OVER_LIMIT 0/5 59s", "a=1")
	f.want("OK: OK 4/5 59s", "a=2")
	f.clock.Advance(58500 * time.Millisecond)
	f.want("OK: OK 4/5 60s", "a=1")
}

// TestChecksCountNothing checks that a request with 0 hits reports whether the count is within the limit. A count equal
// to the limit is still within it.
func TestChecksCountNothing(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 2}}, {key: none, rate_limit: {unit: minute}}]")
	for range 3 {
		f.want("OK: OK 2/2 60s", "a=1 x0")
	}
	f.want("OK: OK 0/2 60s", "a=1 x2")
	f.want("OK: OK 0/2 60s", "a=1 x0")
	f.want("OK: OK 0/0 60s", "none=1 x0")
	f.want("OVER_LIMIT: OVER_LIMIT 0/0 60s", "none=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/0 60s", "none=1 x0")
}

// TestHitsGiveBack checks that negative hits lower the count, but never below 0, and are never denied. (They are new
// in Envoy's API; envoyproxy/ratelimit interprets them as ordinary hits.)
func TestHitsGiveBack(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: minute, requests_per_unit: 5}}]")
	f.want("OVER_LIMIT: OVER_LIMIT 0/5 60s", "a=1 x7")
	f.want("OK: OK 0/5 60s", "a=1 -x2")
	f.want("OK: OK 1/5 60s", "a=1 -x1")
	f.want("OK: OK 5/5 60s", "a=1 -x100")
	f.want("OK: OK 4/5 60s", "a=1")
	if got := f.stats(); !maps.Equal(got, map[string]string{"d.a": "total=8 over=2 near=1 within=1"}) {
		t.Errorf("%v", got)
	}
}

// TestMatchingOrder checks the order of matching: the exact value, then the first wildcard in the file, then the key
// alone, and only at the request's depth. Wildcards in the middle work like in envoyproxy/ratelimit since March 2026.
func TestMatchingOrder(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: a, value: "x*", rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: a, value: "x*y", rate_limit: {unit: day, requests_per_unit: 3}}
  - {key: a, value: "*y*z", rate_limit: {unit: day, requests_per_unit: 4}}
  - {key: a, value: xy, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: a, value: "m*m", rate_limit: {unit: day, requests_per_unit: 6}}
  - key: b
    descriptors:
      - {key: c, value: "foo*bar*baz", rate_limit: {unit: day, requests_per_unit: 7}}
  - {key: both_k, rate_limit: {unit: day, requests_per_unit: 8}}
  - {key: outer, rate_limit: {unit: day, requests_per_unit: 9}, descriptors: [{key: inner}]}
`)
	for entries, limit := range map[string]int{
		"a=xy": 5, "a=xay": 2, "a=x": 2, "a=ayz": 4, "a=ayaz": 4, "a=yz": 4, "a=q": 1, "a=": 1, "a=mm": 6, "a=mxm": 6, "a=m": 1,
		"b=1,c=foobarbaz": 7, "b=1,c=foo1bar2baz": 7, "b=1,c=foobaz": 0, "b=1,c=foo1bar2ba": 0, "b=1": 0, "a=xy,c=foo": 0, "q=1": 0, "both=k": 8, "outer=1": 9, "outer=1,inner=1": 0,
	} {
		want := "OK: OK"
		if limit > 0 {
			want = fmt.Sprintf("OK: OK %d/%d 86400s", limit-1, limit)
		}
		f.want(want, entries)
	}
}

// TestShareThreshold checks that all values of a shared wildcard share one counter, and that other values use one
// counter each, even for a wildcard in the middle of a value.
func TestShareThreshold(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: f, value: "/api*v1", share_threshold: true, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: own, value: "*", rate_limit: {unit: day, requests_per_unit: 9}}
  - key: t
    value: "t*prod"
    share_threshold: true
    descriptors: [{key: r, rate_limit: {unit: day, requests_per_unit: 9}}]
`)
	f.want("OK: OK 8/9 86400s", "f=/api/a/v1")
	f.want("OK: OK 7/9 86400s", "f=/api/b/v1")
	f.want("OK: OK 8/9 86400s", "own=a")
	f.want("OK: OK 8/9 86400s", "own=b")
	f.want("OK: OK 8/9 86400s", "t=t1prod,r=x")
	f.want("OK: OK 7/9 86400s", "t=t2prod,r=x")
	f.want("OK: OK 8/9 86400s", "t=t2prod,r=y")
}

// TestQuotaMode checks that an exceeded quota denies only if every quota of the request is exceeded, and that its
// status still shows that it is exceeded, as in envoyproxy/ratelimit since March 2026.
func TestQuotaMode(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: q, value: "1", quota_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: q, value: "2", quota_mode: true, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: n, rate_limit: {unit: day, requests_per_unit: 3}}
`)
	f.want("OK: OK 0/1 86400s, OK 1/2 86400s, OK 2/3 86400s", "q=1", "q=2", "n=")
	f.want("OK: OVER_LIMIT 0/1 86400s, OK 0/2 86400s, OK 1/3 86400s", "q=1", "q=2", "n=")
	f.want("OVER_LIMIT: OVER_LIMIT 0/1 86400s, OVER_LIMIT 0/2 86400s, OK 0/3 86400s", "q=1", "q=2", "n=")
	f.want("OVER_LIMIT: OVER_LIMIT 0/1 86400s", "q=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/3 86400s", "n=")

	global := serving(t, Options{Quota: true}, "domain: d\ndescriptors: [{key: n, rate_limit: {unit: day}}, {key: m, rate_limit: {unit: day, requests_per_unit: 9}}]")
	global.want("OK: OVER_LIMIT 0/0 86400s, OK 8/9 86400s", "n=", "m=")
	global.want("OVER_LIMIT: OVER_LIMIT 0/0 86400s", "n=")
}

// TestReplaces checks that a rule replaced by another descriptor's rule is not counted, even if the other rule is
// unlimited, and that a replaced rule still replaces others.
func TestReplaces(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: all, rate_limit: {name: all, unit: day, requests_per_unit: 5}}
  - {key: vip, rate_limit: {unit: day, requests_per_unit: 9, name: vip, replaces: [{name: all}]}}
  - {key: staff, rate_limit: {unlimited: true, replaces: [{name: vip}]}}
`)
	f.want("OK: OK 4/5 86400s", "all=1")
	f.want("OK: OK, OK 8/9 86400s", "all=1", "vip=1")
	f.want("OK: OK 3/5 86400s, OK unlimited", "all=1", "staff=1")
	f.want("OK: OK, OK, OK unlimited", "all=1", "vip=1", "staff=1")
	f.want("OK: OK 2/5 86400s", "all=1")
}

// TestUnitMultiplier covers multipliers in the file and in a request's override. The counters depend on the length of
// their windows.
func TestUnitMultiplier(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: second, unit_multiplier: 10, requests_per_unit: 5}}]")
	f.clock.Advance(13 * time.Second)
	f.want("OK: OK 4/5 7s", "a=1")
	f.want("OK: OK 8/10 7s", "a=1 limit=10/10/SECOND")
	f.want("OK: OK 6/7 17s", "a=1 limit=7/30/SECOND")
	f.want("error: invalid rate limit unit_multiplier 0; accepted: 1 or more", "a=1 limit=7/0/SECOND")
	f.want("error: invalid rate limit unit 'UNKNOWN'", "a=1 limit=7/SECONDS")
	f.want("error: rate limit of 4000000000 years is longer than 100 years; accepted: a unit_multiplier up to 100", "a=1 limit=7/4000000000/YEAR")
	response, err := f.ShouldRateLimit(context.Background(), &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "a=1")})
	if m := response.GetStatuses()[0].GetCurrentLimit().GetUnitMultiplier().GetValue(); err != nil || m != 10 {
		t.Errorf("unit_multiplier %d, %v", m, err)
	}
}

// TestOverridesAreBounded checks that limits in requests create at most MaxSeries statistics, however many limits
// there are.
func TestOverridesAreBounded(t *testing.T) {
	f := serving(t, Options{}, "domain: d")
	for i := range MaxSeries + 500 {
		f.ask(fmt.Sprintf("a=%d limit=%d/MINUTE", i, i+1))
	}
	stats := f.stats()
	if len(stats) != MaxSeries+1 || stats["d.override.other"] != "total=500 near=1 within=500" && !strings.HasPrefix(stats["d.override.other"], "total=500 ") {
		t.Errorf("%d series, other: %s", len(stats), stats["d.override.other"])
	}
}

// TestLongNamesAreCountedTogether (regression: bug 69): if a request's descriptor results in a name longer than
// MaxSeriesName bytes, no statistic with that name is created. Its hits are counted in the series "other".
func TestLongNamesAreCountedTogether(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: detail, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: value, value_to_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}
`)
	for i := range 100 {
		long := fmt.Sprintf("%03d%s", i, strings.Repeat("x", 10_000))
		f.ask("detail="+long, "value="+long, "own="+long+" limit=5/MINUTE")
	}
	longest := strings.Repeat("y", MaxSeriesName-len("d.detail_"))
	f.ask("detail=" + longest)
	f.ask("detail=" + longest + "y")
	stats := f.stats()
	for name, want := range map[string]string{"d.detail.other": "total=101 ", "d.value.other": "total=100 ", "d.override.other": "total=100 ", "d.detail_" + longest: "total=1 "} {
		if !strings.HasPrefix(stats[name], want) {
			t.Errorf("%s: %s, want %s", name, stats[name], want)
		}
	}
	if len(stats) != 4 {
		t.Errorf("%d series, want 4", len(stats))
	}
}

// TestStatistics checks the numbers of hits that are within the limit, near it (above 80 % of it) and over it.
func TestStatistics(t *testing.T) {
	const file = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: s, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 10}}
  - {key: none, rate_limit: {unit: day}}
  - {key: u, rate_limit: {unlimited: true}}
  - {key: ip, value: "1.2.3.4:80", rate_limit: {unit: day, requests_per_unit: 10}}
`
	f := serving(t, Options{}, file)
	for _, hits := range []string{"x7", "x2", "x4", "x3"} { // counts of 7, 9, 13 and 16
		f.ask("a=1 "+hits, "s=1 "+hits, "none=1 "+hits, "u=1 "+hits)
	}
	f.ask("ip=1.2.3.4:80")
	want := map[string]string{
		"d.a": "total=16 over=6 near=2 within=9", "d.s": "total=16 over=6 near=2 within=9 shadow=6", "d.none": "total=16 over=16",
		"d.ip_1_2_3_4_80": "total=1 within=1",
	}
	if got := f.stats(); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	f.load(strings.Replace(file, "{key: none, rate_limit: {unit: day}}", "{key: added, rate_limit: {unit: day}}", 1))
	delete(want, "d.none")
	if got := f.stats(); !maps.Equal(got, want) {
		t.Errorf("after a reload %v\nwant %v", got, want)
	}
	if _, err := f.Load([]File{{Name: "bad"}}); err == nil {
		t.Fatal("no error")
	}
	f.ask()
	all := f.Stats()
	if all.ConfigLoadSuccess != 2 || all.ConfigLoadError != 1 || all.ServiceError != 1 {
		t.Errorf("%+v", all)
	}
}

// TestMetricNames checks how detailed_metric and value_to_metric affect names, using the tables in
// envoyproxy/ratelimit's README.
func TestMetricNames(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: plain, rate_limit: {unit: day, requests_per_unit: 9}}
  - {key: detail, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}
  - key: route
    value: "api/*"
    value_to_metric: true
    descriptors: [{key: method, value_to_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}]
  - key: shared
    value: "s*"
    share_threshold: true
    value_to_metric: true
    descriptors: [{key: m, value: GET, rate_limit: {unit: day, requests_per_unit: 9}}, {key: m, detailed_metric: true, rate_limit: {unit: day, requests_per_unit: 9}}]
`)
	for _, c := range []struct{ entries, name string }{
		{"plain=x", "d.plain"},
		{"detail=x", "d.detail_x"},
		{"route=api/v1,method=GET", "d.route_api/v1.method_GET"},
		{"shared=s1,m=GET", "d.shared_s*.m_GET"},
		{"shared=s2,m=PUT", "d.shared_s*.m_PUT"},
	} {
		before := f.stats()
		f.ask(c.entries)
		for name, text := range f.stats() {
			if before[name] != text && name != c.name {
				t.Errorf("%s is counted as %s, want %s", c.entries, name, c.name)
			}
		}
		if f.stats()[c.name] == "" {
			t.Errorf("%s is not counted as %s: %v", c.entries, c.name, f.stats())
		}
	}
	for i := range 2 * MaxSeries {
		f.ask(fmt.Sprintf("detail=v%d", i))
	}
	if got := f.stats()["d.detail.other"]; !strings.HasPrefix(got, "total=1001 ") {
		t.Errorf("other: %s", got)
	}
}

// TestMetadata checks that the answer contains the metadata of the rules that are not over their limits. If two rules
// set a field, the first value applies. Mappings are merged, but only in the answer.
func TestMetadata(t *testing.T) {
	f := serving(t, Options{DynamicMetadata: true}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 1}, metadata: {name: first, deep: {x: 1}, list: [1, yes, null, 0x10]}}
  - {key: b, rate_limit: {unit: day, requests_per_unit: 9}, metadata: {name: second, deep: {x: 2, y: 3.5}}}
`)
	for _, want := range []string{
		`{"domain":"d","descriptors":[{"entries":["a=1"]},{"entries":["b="],"hitsAddend":2}],"metadata":{"name":"first","deep":{"x":1,"y":3.5},"list":[1,true,null,16]}}`,
		`{"domain":"d","descriptors":[{"entries":["a=1"]},{"entries":["b="],"hitsAddend":2}],"metadata":{"name":"second","deep":{"x":2,"y":3.5}}}`,
	} {
		response, err := f.ShouldRateLimit(context.Background(), &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "a=1", "b= x2")})
		if err != nil {
			t.Fatal(err)
		}
		var wanted structpb.Struct
		if err := protojson.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(response.DynamicMetadata, &wanted) {
			t.Errorf("got %v\nwant %v", response.DynamicMetadata, &wanted)
		}
	}
}

// TestAlgorithms covers the algorithm and burst fields of a file.
func TestAlgorithms(t *testing.T) {
	f := serving(t, Options{}, `
domain: d
descriptors:
  - {key: bucket, rate_limit: {unit: second, requests_per_unit: 2, algorithm: token-bucket, burst: 5}}
  - {key: log, rate_limit: {unit: minute, requests_per_unit: 2, algorithm: sliding-log}}
  - {key: zero, rate_limit: {unit: minute, algorithm: gcra}}
`)
	f.want("OK: OK 0/2 3s", "bucket=1 x5")
	f.want("OVER_LIMIT: OVER_LIMIT 0/2 1s", "bucket=1")
	f.clock.Advance(500 * time.Millisecond)
	f.want("OK: OK 1/2 2s", "bucket=1 x0")
	f.want("OK: OK 0/2 3s", "bucket=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/2 1s", "bucket=1 x0")
	f.want("OK: OK 1/2 2s", "bucket=1 -x1")
	f.want("OK: OK 0/2 60s", "log=1 x2")
	f.clock.Advance(30 * time.Second)
	f.want("OVER_LIMIT: OVER_LIMIT 0/2 30s", "log=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/0 60s", "zero=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/0 60s", "zero=1 x0")
	// More hits than can ever pass, for keys that have had no request.
	f.want("OVER_LIMIT: OVER_LIMIT 2/2 60s", "log=2 x3")
	f.want("OVER_LIMIT: OVER_LIMIT 5/2 1s", "bucket=2 x6")
	f.want("OVER_LIMIT: OVER_LIMIT 2/2 60s, OK 4/2 1s", "log=3 x3", "bucket=3")
}

// TestImproved checks that either all descriptors are charged or none are, that denied hits are not counted, and that
// two descriptors that share a counter are both charged.
func TestImproved(t *testing.T) {
	f := serving(t, Options{Semantics: Improved}, `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: day, requests_per_unit: 2}}
  - {key: b, rate_limit: {unit: day, requests_per_unit: 5}}
  - {key: s, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}
  - {key: none, rate_limit: {unit: day}}
`)
	f.want("OK: OK 0/2 86400s, OK 4/5 86400s", "a=1 x2", "b=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/2 86400s, OK 4/5 86400s", "a=1", "b=1")
	f.want("OVER_LIMIT: OK 2/2 86400s, OVER_LIMIT 4/5 86400s", "a=2", "b=1 x9")
	f.want("OK: OK 3/5 86400s", "b=1")
	f.want("OVER_LIMIT: OVER_LIMIT 3/5 86400s, OVER_LIMIT 3/5 86400s", "b=1 x2", "b=1 x2")
	f.want("OK: OK 0/5 86400s, OK 0/5 86400s", "b=1 x2", "b=1")
	f.want("OVER_LIMIT: OVER_LIMIT 0/0 86400s, OK 5/5 86400s", "none=1", "b=2")
	f.want("OK: OK 0/1 86400s, OK 4/5 86400s", "s=1", "b=2")
	f.want("OK: OK 0/1 86400s, OK 3/5 86400s", "s=1", "b=2")
	// If one check finds no units left, the other descriptors are not charged.
	f.want("OVER_LIMIT: OVER_LIMIT 0/2 86400s, OK 3/5 86400s", "a=1 x0", "b=2")
	f.want("OK: OK 1/2 86400s, OK 2/5 86400s", "a=3 x1", "b=2")
}

// TestOneCounterUnderTwoLimits checks that two descriptors with the same counter but different limits are both charged
// as long as the smaller limit admits both, and that each answer is for the descriptor's own limit. Limits with other
// time units use other counters.
func TestOneCounterUnderTwoLimits(t *testing.T) {
	f := serving(t, Options{Semantics: Improved}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 9}}]")
	f.want("OK: OK 3/5 86400s, OK 8/10 86400s", "b=1 limit=5/DAY", "b=1 limit=10/DAY")
	f.want("OK: OK 6/10 86400s, OK 1/5 86400s", "b=1 limit=10/DAY", "b=1 limit=5/DAY")
	f.want("OVER_LIMIT: OVER_LIMIT 1/5 86400s, OK 6/10 86400s", "b=1 limit=5/DAY", "b=1 limit=10/DAY")
	f.want("OVER_LIMIT: OVER_LIMIT 6/10 86400s, OVER_LIMIT 1/5 86400s", "b=1 x9 limit=10/DAY", "b=1 limit=5/DAY")
	f.want("OK: OK 1/10 86400s", "b=1 x5 limit=10/DAY")
	f.want("OVER_LIMIT: OVER_LIMIT 0/5 86400s, OVER_LIMIT 1/10 86400s", "b=1 limit=5/DAY", "b=1 limit=10/DAY")
	f.want("OK: OK 4/5 60s, OK 8/9 3600s", "b=2 limit=5/MINUTE", "b=2 limit=9/HOUR")
	f.want("OVER_LIMIT: OK 4/5 60s, OVER_LIMIT 8/9 3600s", "b=2 limit=5/MINUTE", "b=2 x9 limit=9/HOUR")
	f.want("OK: OK 6/9 86400s, OK 1/4 86400s", "a", "a x2 limit=4/DAY")
}

// TestErrors checks the codes and texts of errors with the original and the improved semantics, and with failure modes.
func TestErrors(t *testing.T) {
	const file = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 1}}]"
	away := errors.New("store away")
	for _, c := range []struct {
		name    string
		options Options
		failing error
		request *pb.RateLimitRequest
		code    codes.Code
		want    string
	}{
		{"domain", Options{}, nil, &pb.RateLimitRequest{}, codes.Unknown, "rate limit domain must not be empty"},
		{"list", Options{}, nil, &pb.RateLimitRequest{Domain: "d"}, codes.Unknown, "rate limit descriptor list must not be empty"},
		{"domain improved", Options{Semantics: Improved}, nil, &pb.RateLimitRequest{}, codes.InvalidArgument, "rate limit domain must not be empty"},
		{"too many", Options{}, nil, &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, strings.Fields(strings.Repeat("a=1 ", 1001))...)}, codes.Unknown, "rate limit descriptor list has 1001 descriptors; accepted: 1 to 1000"},
		{"away", Options{}, away, nil, codes.Unknown, "store away"},
		{"away improved", Options{Semantics: Improved}, away, nil, codes.Unavailable, "store away"},
		{"away deny", Options{Failure: new(policy.Deny)}, away, nil, codes.Unavailable, "store away"},
		{"away allow", Options{Failure: new(policy.Allow)}, away, nil, codes.Unknown, ""},
	} {
		f := serving(t, c.options, file)
		f.failing = c.failing
		if c.request == nil {
			c.request = &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "a=1")}
		}
		response, err := f.ShouldRateLimit(context.Background(), c.request)
		if c.want == "" {
			if err != nil || response.OverallCode != pb.RateLimitResponse_OK || response.Statuses[0].CurrentLimit != nil || response.Statuses[0].LimitRemaining != 0 {
				t.Errorf("%s: %v, %v", c.name, response, err)
			}
			continue
		}
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code != c.code || e.Error() != c.want {
			t.Errorf("%s: %v, want code %d %s", c.name, err, c.code, c.want)
		}
	}
	for semantics, code := range map[Semantics]codes.Code{Original: codes.Unknown, Improved: codes.FailedPrecondition} {
		_, err := New(Options{Semantics: semantics}, nil).ShouldRateLimit(context.Background(), &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "a=1")})
		if e := (*Error)(nil); !errors.As(err, &e) || e.Code != code || e.Error() != "no rate limit configuration loaded" {
			t.Errorf("no configuration: %v", err)
		}
	}
}

// TestOneStoreCall checks that all descriptors of a request are sent in one call to the store.
func TestOneStoreCall(t *testing.T) {
	f := serving(t, Options{}, "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day, requests_per_unit: 9}}]")
	f.want("OK: OK 8/9 86400s, OK 8/9 86400s, OK", "a=1", "a=2", "q=1")
	f.want("OK: OK", "q=1")
	if f.calls != 1 {
		t.Errorf("%d calls, want 1: a request without rules has none", f.calls)
	}
}

// TestShadowsOfAStoreThatIsAway checks that a request that matches only rules with shadow_mode is answered OK, not
// with an error, if the store is away.
func TestShadowsOfAStoreThatIsAway(t *testing.T) {
	for _, options := range []Options{{}, {Semantics: Improved}, {Failure: new(policy.Deny)}} {
		f := serving(t, options, "domain: d\ndescriptors: [{key: s, shadow_mode: true, rate_limit: {unit: day, requests_per_unit: 1}}]")
		f.failing = errors.New("store away")
		response, err := f.ShouldRateLimit(context.Background(), &pb.RateLimitRequest{Domain: "d", Descriptors: allDescribed(t, "s=1", "s=1")})
		if err != nil || response.OverallCode != pb.RateLimitResponse_OK {
			t.Errorf("%+v: %v, %v", options, response, err)
		}
	}
}

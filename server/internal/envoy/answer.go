package envoy

import (
	"math"
	"strconv"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/engine"
)

// status holds a descriptor's answer and its reset time, so that both take one allocation.
type status struct {
	pb.RateLimitResponse_DescriptorStatus
	reset durationpb.Duration
}

// answer builds the response to a request whose operations have been decided.
func (s *Service) answer(request *pb.RateLimitRequest, b *buffers) *pb.RateLimitResponse {
	memory := make([]status, len(b.matches))
	response := &pb.RateLimitResponse{Statuses: make([]*pb.RateLimitResponse_DescriptorStatus, len(b.matches)), OverallCode: pb.RateLimitResponse_OK}
	t := tally{remaining: math.MaxUint32}
	for i := range b.matches {
		m, st := &b.matches[i], &memory[i]
		s.status(request, b, i, st)
		response.Statuses[i] = &st.RateLimitResponse_DescriptorStatus
		if m.rule != nil && m.rule.unlimited {
			continue
		}
		t.add(&st.RateLimitResponse_DescriptorStatus, s.options.Quota || m.quota != nil && m.rule != nil && m.rule.quotaMode)
	}
	if t.over() {
		response.OverallCode = pb.RateLimitResponse_OVER_LIMIT
	}
	if s.options.Headers.Enabled && t.closest != nil {
		response.ResponseHeadersToAdd = s.options.Headers.of(t.closest)
	}
	if s.options.Shadow && t.over() {
		response.OverallCode = pb.RateLimitResponse_OK
		s.counters.globalShadow.Add(1)
	}
	if s.options.DynamicMetadata {
		response.DynamicMetadata = dynamicMetadata(request, b.matches, memory)
	}
	return response
}

// tally combines the statuses of the descriptors.
type tally struct {
	denied, quotas, quotasOver int
	// closest is the last status that denies or, if none does, the status with the fewest remaining units. It is nil if
	// no descriptor has a limit.
	closest   *pb.RateLimitResponse_DescriptorStatus
	remaining uint32
}

// add adds a status. Rules in quota mode deny only if all of them are over their limits.
func (t *tally) add(st *pb.RateLimitResponse_DescriptorStatus, quota bool) {
	over := st.Code == pb.RateLimitResponse_OVER_LIMIT
	if st.CurrentLimit != nil && st.LimitRemaining < t.remaining {
		t.closest, t.remaining = st, st.LimitRemaining
	}
	if quota {
		t.quotas++
	}
	switch {
	case over && quota:
		t.quotasOver++
	case over:
		t.denied++
		t.closest, t.remaining = st, 0
	}
}

func (t *tally) over() bool { return t.denied > 0 || t.quotas > 0 && t.quotas == t.quotasOver }

// status fills in the answer for one descriptor, and adds its hits to the statistics.
func (s *Service) status(request *pb.RateLimitRequest, b *buffers, i int, st *status) {
	st.Code = pb.RateLimitResponse_OK
	m, at := &b.matches[i], b.places[i]
	if m.rule != nil && m.rule.unlimited {
		st.LimitRemaining = math.MaxUint32
		return
	}
	if m.quota == nil || b.responses[at.request].Err != nil { // no rule, or an error for a rule that cannot deny
		return
	}
	q, r := &b.requests[at.request], &b.responses[at.request]
	o, ok := outcomeOf(r, at.item)
	if !ok { // allowed by the failure mode, or an error in a shadow
		return
	}
	if o.unlimited {
		st.LimitRemaining = math.MaxUint32
		return
	}
	quota, near := m.quota, m.near
	if o.limit != quota.limit && !(quota.blocked() && o.limit == engine.DenyAll()) {
		quota = quota.as(o.limit)
		near = quota.near(s.options.ratio())
	}
	v := quota.verdict(q.Kind, &o)
	if !v.allowed {
		st.Code = pb.RateLimitResponse_OVER_LIMIT
	}
	st.CurrentLimit, st.LimitRemaining = quota.current, v.remaining
	st.reset.Seconds = v.reset
	st.DurationUntilReset = &st.reset
	n := hits(request, request.Descriptors[i])
	if q.Kind != engine.OpGive {
		limit := uint64(quota.current.RequestsPerUnit)
		m.stats.count(n, v.before(n, limit), limit, near, o.shadow && !v.allowed)
		if o.shadow {
			st.Code = pb.RateLimitResponse_OK
		}
	}
}

// verdict is the answer for one descriptor.
type verdict struct {
	allowed   bool
	remaining uint32
	granted   uint64 // number of hits within the limit
	reset     int64  // in s
}

// verdict derives a descriptor's answer from its outcome.
func (q *quota) verdict(kind engine.Kind, o *outcome) verdict {
	v := verdict{allowed: o.allowed, granted: uint64(o.granted)}
	remaining := max(0, o.standing.Remaining)
	if q.blocked() {
		// The window for a quota of 0 has a limit of 1, and only an empty window allows 0 hits.
		v.allowed = kind == engine.OpGive || kind == engine.OpCount && o.cost == 0 && remaining > 0
		remaining, v.granted = 0, 0
	}
	v.remaining = uint32(min(remaining, math.MaxUint32))
	v.reset = q.reset(o.at, &o.standing, !v.allowed && (q.blocked() || o.standing.RetryAfter == engine.Never))
	return v
}

// before returns the number of hits that were counted before these n, but at most limit.
func (v *verdict) before(n, limit uint64) uint64 {
	if !v.allowed {
		return limit - min(limit, v.granted)
	}
	return limit - min(limit, uint64(v.remaining)+n)
}

// reset returns the number of seconds until a window ends. For other algorithms it returns the time until the same
// request passes or, if the request passes now, until all units are available again. For a request that never passes it
// returns the limit's whole period, because 0 would mean now.
func (q *quota) reset(at time.Time, s *engine.Standing, never bool) int64 {
	if q.counts() {
		return q.seconds - at.Unix()%q.seconds
	}
	left := s.ResetAfter
	switch {
	case never:
		left = q.limit.Rates()[0].Period
	case s.RetryAfter > 0:
		left = s.RetryAfter
	}
	return int64((left + time.Second - 1) / time.Second)
}

// of returns the rate-limit headers for a status.
func (h *Headers) of(st *pb.RateLimitResponse_DescriptorStatus) []*core.HeaderValue {
	return []*core.HeaderValue{
		{Key: h.Limit, Value: strconv.FormatUint(uint64(st.CurrentLimit.RequestsPerUnit), 10)},
		{Key: h.Remaining, Value: strconv.FormatUint(uint64(st.LimitRemaining), 10)},
		{Key: h.Reset, Value: strconv.FormatInt(st.DurationUntilReset.GetSeconds(), 10)},
	}
}

package envoy

import (
	"math"
	"strconv"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
)

// status is the memory of a descriptor's answer, in one allocation.
type status struct {
	pb.RateLimitResponse_DescriptorStatus
	reset durationpb.Duration
}

// answer makes the response of a request whose operations are decided.
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

// tally is what the statuses say about the request as a whole.
type tally struct {
	refused, quotas, quotasOver int
	// closest is the status that is over its limit, or nearest to it.
	closest   *pb.RateLimitResponse_DescriptorStatus
	remaining uint32
}

// add adds a status. A rule with quota mode refuses only if all such rules are over.
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
		t.refused++
		t.closest, t.remaining = st, 0
	}
}

func (t *tally) over() bool { return t.refused > 0 || t.quotas > 0 && t.quotas == t.quotasOver }

// status fills in the answer of one descriptor, and counts its hits in the statistics.
func (s *Service) status(request *pb.RateLimitRequest, b *buffers, i int, st *status) {
	st.Code = pb.RateLimitResponse_OK
	m, at := &b.matches[i], b.places[i]
	if m.rule != nil && m.rule.unlimited {
		st.LimitRemaining = math.MaxUint32
		return
	}
	if m.quota == nil || b.results[at.op].Err != nil { // no rule, or the failure mode allows
		return
	}
	op, d := &b.ops[at.op], &b.results[at.op].Decision
	v := m.read(op, d, at.charge)
	if at.own > 0 && b.results[at.own].Err == nil {
		v = m.own(&b.results[at.own].Decision, v, op.Charges[at.charge].Cost)
	}
	if !v.allowed {
		st.Code = pb.RateLimitResponse_OVER_LIMIT
	}
	st.CurrentLimit, st.LimitRemaining = m.quota.current, v.remaining
	st.reset.Seconds = v.reset
	st.DurationUntilReset = &st.reset
	n := hits(request, request.Descriptors[i])
	if op.Kind != engine.OpGive {
		shadow := m.rule != nil && m.rule.shadow
		limit := uint64(m.quota.current.RequestsPerUnit)
		m.stats.count(n, v.before(n, limit), limit, m.near, shadow && !v.allowed)
		if shadow {
			st.Code = pb.RateLimitResponse_OK
		}
	}
}

// verdict is the answer of one descriptor's limit.
type verdict struct {
	allowed   bool
	remaining uint32
	granted   uint64 // the hits that were within the limit
	reset     int64  // in s
}

// read reads a descriptor's answer from the decision of its operation.
func (m *match) read(op *engine.Op, d *headgate.Decision, charge int) verdict {
	standing := engine.Standing{Limit: d.Limit, Remaining: d.Remaining, RetryAfter: d.RetryAfter, ResetAfter: d.ResetAfter}
	v := verdict{allowed: d.Allowed, granted: uint64(d.Granted)}
	if len(op.Charges) > 1 { // all or nothing: which of the limits refuses?
		standing = d.Limits[charge].Standing
		v.allowed = d.Allowed || standing.RetryAfter == 0
		if v.granted = 0; d.Allowed {
			v.granted = uint64(op.Charges[charge].Cost)
		}
	}
	remaining := max(0, standing.Remaining)
	if m.quota.blocked() {
		// The window of a quota of 0 has a limit of 1: only an empty one allows 0 hits.
		v.allowed = op.Kind == engine.OpGive || op.Kind == engine.OpCount && op.Charges[0].Cost == 0 && remaining > 0
		remaining, v.granted = 0, 0
	}
	v.remaining = uint32(min(remaining, math.MaxUint32))
	v.reset = m.quota.reset(d.At, &standing, !v.allowed && (m.quota.blocked() || standing.RetryAfter == headgate.Never))
	return v
}

// own returns the answer of a descriptor that another one's smaller limit was charged for.
// d is what its own limit has after that, and cost the hits of both.
func (m *match) own(d *headgate.Decision, v verdict, cost int64) verdict {
	v.allowed = v.allowed || d.Remaining >= cost
	v.remaining = uint32(min(max(0, d.Remaining), math.MaxUint32))
	v.reset = m.quota.reset(d.At, &engine.Standing{ResetAfter: d.ResetAfter}, false)
	return v
}

// before returns how many hits had been counted before these n, as far as it matters: at
// least the limit, or exactly.
func (v *verdict) before(n, limit uint64) uint64 {
	if !v.allowed {
		return limit - min(limit, v.granted)
	}
	return limit - min(limit, uint64(v.remaining)+n)
}

// reset returns how many seconds are left until a window ends. For the other algorithms it
// is the time until the same request passes, or until the limit is as if untouched. For a
// request that never passes it is the whole time of the limit: 0 would be read as now.
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

// of returns the headers of a status.
func (h *Headers) of(st *pb.RateLimitResponse_DescriptorStatus) []*core.HeaderValue {
	return []*core.HeaderValue{
		{Key: h.Limit, Value: strconv.FormatUint(uint64(st.CurrentLimit.RequestsPerUnit), 10)},
		{Key: h.Remaining, Value: strconv.FormatUint(uint64(st.LimitRemaining), 10)},
		{Key: h.Reset, Value: strconv.FormatInt(st.DurationUntilReset.GetSeconds(), 10)},
	}
}

package respapi

import (
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/server/resp"
	"github.com/headgate/headgate/server/resp/wire"
	"github.com/headgate/headgate/server/service"
)

type command = resp.Decision[service.Request, service.Response]

// Commands returns the decision commands, decided by the service.
func Commands(s *service.Service) resp.Decisions {
	return resp.NewDecisions(s.Do,
		throttle(),
		remove("del"), remove("unlink"), exists(), ttl("ttl", time.Second), ttl("pttl", time.Millisecond),
		byPolicy("headgate.take", engine.OpAllow, appendSix),
		byPolicy("headgate.peek", engine.OpPeek, appendSix),
		byPolicy("headgate.give", engine.OpGive, appendRemaining),
		byPolicy("headgate.reset", engine.OpReset, appendFound),
	)
}

func throttle() command {
	return command{
		Spec: resp.Spec{
			Name: "cl.throttle", Arity: -5, Flags: []string{"write", "fast"}, FirstKey: 1, LastKey: 1, KeyStep: 1,
			Syntax: "key max_burst count period [quantity]", Group: "headgate",
			Summary: "Takes a quantity from a token bucket, or says when to come back.",
		},
		Parse: parseThrottle,
		Reply: func(dst []byte, _ wire.Proto, answers []service.Response) []byte {
			if err := answers[0].Err; err != nil {
				return appendError(dst, err)
			}
			return appendFive(wire.AppendArray(dst, 5), &answers[0].Decision)
		},
	}
}

func parseThrottle(dst []service.Request, words [][]byte) ([]service.Request, error) {
	if len(words) > 6 {
		return dst, errArity("cl.throttle")
	}
	key, err := parseKey(words[1])
	if err != nil {
		return dst, err
	}
	var n numbers
	if n.maxBurst, err = parseInt("max_burst", words[2], 0, maxUnits-1); err != nil {
		return dst, err
	}
	if n.count, err = parseInt("count per period", words[3], 1, maxUnits); err != nil {
		return dst, err
	}
	if n.period, err = parseInt("period", words[4], 1, maxPeriodSeconds); err != nil {
		return dst, err
	}
	quantity := int64(1)
	if len(words) == 6 {
		if quantity, err = parseInt("quantity", words[5], 0, maxQuantity); err != nil {
			return dst, err
		}
	}
	limit, err := n.limit()
	if err != nil {
		return dst, err
	}
	return append(dst, service.Request{Kind: engine.OpAllow, Limit: limit, Key: key, Cost: quantity, HasCost: true}), nil
}

// appendFive appends CL.THROTTLE's integers. No limit is −1, here alone.
func appendFive(dst []byte, d *headgate.Decision) []byte {
	refused := int64(1)
	if d.Allowed {
		refused = 0
	}
	limit, remaining := d.Limit, d.Remaining
	if d.Unlimited {
		limit, remaining = -1, -1
	}
	retry := int64(-1)
	if !d.Allowed && d.RetryAfter != headgate.Never {
		retry = max(1, ceil(d.RetryAfter, time.Second))
	}
	for _, n := range [...]int64{refused, limit, remaining, retry, ceil(d.ResetAfter, time.Second)} {
		dst = wire.AppendInt(dst, n)
	}
	return dst
}

func ceil(d, unit time.Duration) int64 {
	whole := int64(d / unit)
	if d%unit > 0 {
		whole++
	}
	return whole
}

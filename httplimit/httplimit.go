package httplimit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/headgate/headgate"
	"github.com/headgate/headgate/internal/queue"
)

// New returns middleware that charges each request to a policy, under the request's key. A request without a key gets
// a 400; see [Key]. It panics if the policy is invalid ([headgate.Policy.Err]), if there is no policy or key, and if an
// option is invalid. The middleware panics if its handler is nil.
func New(policy *headgate.Policy, key Key, options ...Option) func(http.Handler) http.Handler {
	return NewMiddleware(policy, key, options...).Handler
}

// By returns middleware that lets a decider decide each request. It panics if an option is invalid, and with [WithCost]
// and [WithPolicy], because the decider knows the cost and the policy: see [Item]. [WithFinalCost] needs a [Settler]. If the decider is not one, every request fails with an error, which goes to
// [WithError].
func By(decider Decider, options ...Option) func(http.Handler) http.Handler {
	return MiddlewareBy(decider, options...).Handler
}

// Middleware decides requests and responds to denied ones. [New] and [By] are enough for net/http. Adapters for other
// frameworks call [Middleware.Admit], or [Middleware.Decide] if their denials are not HTTP responses. It is safe for
// concurrent use.
type Middleware struct {
	policy  *headgate.Policy
	key     Key
	decider Decider // replaces policy and key if set

	style     Style // "" means the style of the policies, or Draft
	choose    func(*http.Request) *headgate.Policy
	cost      func(*http.Request) int64
	finalCost FinalCost
	unsettled *unsettled // with finalCost
	slots     *slots     // for requests delayed by a pacer
	denied    func(http.ResponseWriter, *http.Request, headgate.Decision)
	failed    func(http.ResponseWriter, *http.Request, http.Handler, error)
}

// NewMiddleware is [New] for adapters: it returns the middleware instead of a wrapper.
func NewMiddleware(policy *headgate.Policy, key Key, options ...Option) *Middleware {
	if policy != nil {
		if err := policy.Err(); err != nil {
			panic("httplimit: " + strings.TrimPrefix(err.Error(), "headgate: "))
		}
	}
	return newMiddleware(Middleware{policy: policy, key: key}, options)
}

// MiddlewareBy is [By] for adapters: it returns the middleware instead of a wrapper.
func MiddlewareBy(decider Decider, options ...Option) *Middleware {
	return newMiddleware(Middleware{decider: decider}, options)
}

func newMiddleware(m Middleware, options []Option) *Middleware {
	m.failed, m.slots, m.unsettled = writeFailed, &slots{}, &unsettled{}
	for _, option := range options {
		require(option != nil, "an option")
		option(&m)
	}
	switch styles := []Style{"", Draft, Draft03, XRateLimit, Spring, Off}; {
	case !slices.Contains(styles, m.style):
		panic(fmt.Sprintf("httplimit: WithHeaders(%q); accepted: Draft, Draft03, XRateLimit, Spring, Off", m.style))
	case m.decider == nil && m.policy == nil && m.choose == nil:
		panic("httplimit: there is no policy and no decider; accepted: a policy, WithPolicy, or a decider for By")
	case m.decider != nil && m.cost != nil:
		panic("httplimit: WithCost has no effect with By; accepted: Item.Cost, or the cost in the policies file")
	case m.decider != nil && m.choose != nil:
		panic("httplimit: WithPolicy has no effect with By; accepted: Item.Choose, or the routes of the policies file")
	case m.decider == nil && m.key == nil:
		panic("httplimit: the key is nil; accepted: a function such as ByIP()")
	}
	return &m
}

// require panics if an argument of a constructor is nil. Otherwise the program would panic at its first request.
func require(set bool, argument string) {
	if !set {
		panic("httplimit: " + argument + " is nil; accepted: a function")
	}
}

// Decide decides a request but writes no response. If a pacer delays an allowed request, Decide returns at the
// request's slot. If the request's context ends earlier, Decide gives the slot back. It returns the same errors as
// [headgate.Policy.AllowN] or the decider of [By]; [ErrNoKey]; the context's error, if the request ends while it is
// delayed; or an error if there is no policy, or if the chosen policy or the cost is invalid.
func (m *Middleware) Decide(r *http.Request) (c Admission, err error) {
	err = m.decide(&c, r)
	return c, err
}

// decide writes the result to c, because returning a Charge would copy it.
func (m *Middleware) decide(c *Admission, r *http.Request) (err error) {
	if m == nil || m.failed == nil {
		return &programError{errNoMiddleware}
	}
	if m.decider == nil {
		return m.charge(c, r)
	}
	if err = m.chargeBy(c, r); err == nil && c.Decision.Delay > 0 {
		if err = c.sleep(r); err != nil && c.done != nil {
			c.done()
		}
	}
	return err
}

// chargeBy decides a request with the decider.
func (m *Middleware) chargeBy(c *Admission, r *http.Request) (err error) {
	if settler, ok := m.decider.(Settler); ok {
		a, err := settler.ChargeRequest(r, m.finalCost != nil)
		c.Decision, c.Units, c.settle, c.limits, c.style, c.outcome, c.countedBy, c.done = a.Decision, a.Cost, a.Settle, a.Limits, a.Style, a.Outcome, a.CountedBy, a.Done
		return err
	}
	if m.finalCost != nil {
		return &programError{errNoSettler}
	}
	c.Decision, err = m.decider.AllowRequest(r)
	c.Units = max(1, c.Decision.Granted)
	return err
}

func (m *Middleware) charge(c *Admission, r *http.Request) (err error) {
	// The key comes first: a request without one has no customer, so WithPolicy may know no plan for it.
	key, err := m.key.of(r)
	if err != nil {
		return err
	}
	policy := m.policy
	if m.choose != nil {
		if chosen := m.choose(r); chosen != nil {
			policy = chosen
		}
	}
	if policy == nil {
		return &programError{errNoPolicy}
	}
	if err = m.chargeOn(policy, key, c, r); err != nil && policy != m.policy {
		if mistake := policy.Err(); mistake != nil {
			return &programError{mistake}
		}
	}
	return err
}

func (m *Middleware) chargeOn(policy *headgate.Policy, key string, c *Admission, r *http.Request) (err error) {
	c.policy, c.Units = policy, 1
	if policy.Core().Adapts() {
		key = strings.Clone(key)
		c.outcome = func(failed bool, retryAfter time.Duration) { policy.Outcome(key, failed, retryAfter) }
	}
	if m.cost != nil {
		if c.Units = m.cost(r); c.Units < 0 {
			return &programError{fmt.Errorf("WithCost returned %d; accepted: 0 or more", c.Units)}
		}
	}
	if m.finalCost == nil && !policy.Core().Paces() {
		c.Decision, err = policy.AllowN(r.Context(), key, c.Units)
		return err
	}
	// If a client leaves while the store decides, its slot is still given back.
	ctx, cancel := queue.Outliving(settleWithin, r.Context())
	charged, d, err := policy.ChargeLater(ctx, key, c.Units)
	cancel()
	c.Decision = d
	if m.finalCost != nil {
		m.unsettled.shorten(&c.Decision, chargedKey{policy.Name(), key})
	}
	if err != nil || charged == nil {
		return err
	}
	if d.Delay > 0 {
		if charged, err = m.slots.wait(r.Context(), slotName{policy, strings.Clone(key), c.Units}, d.Delay, charged); err != nil {
			return err
		}
	}
	c.settle = charged.Settle
	if m.finalCost != nil {
		c.done = m.unsettled.add(r.Context(), chargedKey{policy.Name(), strings.Clone(key)})
	}
	return nil
}

// Admit decides a request and sets the rate-limit headers. If ok is false, Admit has written the response, and the
// handler must not run. After the handler, call [Middleware.Settle].
//
// The handler next that a [WithError] function receives does not serve the request itself. It only records that the
// request is to be served.
func (m *Middleware) Admit(w http.ResponseWriter, r *http.Request) (c Admission, ok bool) {
	if err := m.decide(&c, r); err != nil {
		m.fail(w, r, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ok = true }), err)
		return Admission{}, ok
	}
	m.writeHeaders(w.Header(), &c)
	if !c.Decision.Allowed {
		m.deny(w, r, &c)
	}
	return c, c.Decision.Allowed
}

// Handler wraps a handler with the middleware.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	requireHandler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c Admission
		if err := m.decide(&c, r); err != nil {
			m.fail(w, r, next, err)
			return
		}
		m.writeHeaders(w.Header(), &c)
		switch {
		case !c.Decision.Allowed:
			m.deny(w, r, &c)
		case m.Settles(&c):
			m.serveAndSettle(w, r, next, &c)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// requireHandler panics if a middleware has no handler to wrap.
func requireHandler(next http.Handler) {
	if next == nil {
		panic("httplimit: the handler is nil; accepted: a handler, such as http.DefaultServeMux")
	}
}

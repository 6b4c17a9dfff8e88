package algo

// algorithm contains everything that differs between algorithms. Each algorithm's file defines one value, and the table
// algorithms lists them all. Properties and functions that do not apply are false or nil.
type algorithm struct {
	// name is used in configuration files, and code in store keys. aliases contains further names for configuration files.
	name, code string
	aliases    []string
	// fields contains the names of a limit's fields except for its rate, in the order of the limit's text.
	fields []string
	properties
	// Ways of deciding that are faster than the steps. Each lists the fields with which it decides a limit's requests.
	// It is nil if the way does not support the algorithm, and limits with another field are decided by the steps.
	// fast: [Words.Allow], or [State.AllowFair] for an algorithm that divides its units.
	fast []string
	// prefetchable: units can be charged before the requests that spend them.
	prefetchable []string
	// on returns the arithmetic that operates on a state.
	on func(s *State) arithmetic
	// shares returns one process's share of the limit among n processes.
	shares func(l *Limit, n int64) []Share

	// grid returns the numbers that are part of the counter's name.
	grid func(l *Limit) Grid
	// penalize counts a denied cost if count_denied is set. The argument wait is the longest wait of the request's
	// limits. unshare copies the state's lists, so that penalize can be tried on a copy of the state.
	penalize func(s *State, l *Limit, t Instant, cost, wait int64)
	unshare  func(s *State)
	// observe counts outcomes of earlier requests, which arrive with a later request.
	observe func(s *State, l *Limit, t Instant, r *Report)
	// delay returns the time that an admitted caller must wait, in µs. If it is nil, callers never wait.
	delay func(s *State, l *Limit, cost int64) int64
	// lends reports whether a reservation may be charged before its units have refilled.
	lends func(s *State, l *Limit) bool
	// promise notes the delay of a reservation that was charged before its units have refilled.
	promise func(s *State, l *Limit, delay int64)
	// longestDelay caps the delay of a reservation. The caller accepts a delay of up to longest.
	longestDelay func(l *Limit, longest int64) int64
	// spare returns the number of units that a settlement can charge beyond a reservation: as many as would pass now if
	// the capacity, including a bucket's debt and a pacer's queue, were twice as large.
	spare func(s *State, l *Limit, t Instant) int64
	// hold charges a reservation whose units are held until the settlement releases them. By default a reservation is
	// charged like a request, and settled with the used units.
	hold    func(s *State, l *Limit, t Instant, holder string, units int64)
	release func(s *State, holder string)
	// giveHeld returns n units of a reservation. By default, give is called with the charge's handle.
	giveHeld func(s *State, l *Limit, t Instant, n int64, h *Held, r *Returns)
	// mostCharged returns the largest number of units that an unused limit admits at once: by default the capacity.
	mostCharged func(l *Limit) int64
	// sharesBound returns the largest number of units by which the shares of n processes can exceed the limit. By
	// default it is twice the result of mostCharged.
	sharesBound func(l *Limit, n int64) int64
	// upperBound returns a limit that admits at least as much as l in every state of l. By default it is l itself, if l has
	// units to count.
	upperBound func(l *Limit) (bound Limit, ok bool)
	// windowLeft returns how long units charged at an instant stay in the same window or segment, given the time until
	// the limit resets: by default forever.
	windowLeft func(l *Limit, at, reset int64) int64
	// waitByReset returns the shortest time until n units can pass, if the time until the limit resets determines it.
	// By default it returns 0.
	waitByReset func(l *Limit, n, reset int64) int64
}

// arithmetic contains an algorithm's operations on the state of a limit.
type arithmetic interface {
	// behind returns how far the clock is behind the state's instant (rule 8). If the clock is behind, the decision
	// is made as of the state's instant. If callers would have to wait too long for that instant, far is set, and
	// the state is moved to now instead.
	behind(l *Limit, t Instant) (us int64, far bool)
	// rewind moves the state to an earlier t. It changes copies of the state's lists, not the lists themselves.
	rewind(l *Limit, t Instant)
	// settle updates the state from its own instant to t, which is not earlier, using the limit's parameters.
	settle(l *Limit, t Instant)
	// wait returns the time until a cost above 0 passes (0 if it passes now), and the index of the window with the
	// longest wait.
	wait(l *Limit, t Instant, cost int64) (wait int64, window int)
	// room returns the number of units that would pass now.
	room(l *Limit, t Instant) int64
	// charge spends a cost that wait has allowed. It returns the time from t until the units count, which is 0 for most
	// algorithms.
	charge(l *Limit, t Instant, cost, ahead int64) (after int64)
	// give returns n units to the limit: units of the charge or, if it is nil, the oldest units. Units that were never
	// spent are not given back.
	give(l *Limit, t Instant, n int64, charge *Held)
	// report fills in the outcome's Limit, Remaining and Reset. They describe the window that denies or, if none does,
	// the window with the fewest remaining units.
	report(l *Limit, t Instant, o *Outcome)
	// ttl returns the time until the state is equivalent to no state, or 0 if it already is.
	ttl(l *Limit, t Instant) int64
	append(to []byte) []byte
	decode(d *decoder)
}

// Layers, stores and front ends use these properties. Each algorithm's file gives the reasons for its properties.
type properties struct {
	// allowsAll and deniesAll: every request gets the same answer, and there is no state.
	allowsAll, deniesAll bool
	// refills: the limit has one rate and a burst.
	refills bool
	// oneByOne: units refill one at a time, at intervals of the period divided by the count.
	oneByOne bool
	// burstIsCount: the default burst is the rate's count instead of 1.
	burstIsCount bool
	// twoWords: a state fits into two words, in the form defined in words.go.
	twoWords bool
	// holds: permits hold units until they are released.
	holds bool
	// delays: a reservation may wait for its units or, if this limit has no delay of its own, for another limit's
	// units.
	delays bool
	// keepsReturns: a reservation gives back only units that have not refilled, so the returns of other reservations
	// must be recorded.
	keepsReturns bool
	// keepsTimes: each unit is stored with its own time. Therefore no span contains more units than the limit, units
	// can be entered at a later time, and all windows share the same newest unit.
	keepsTimes bool
	// divides: all keys of a namespace are counted in one counter, which divides its units among them.
	divides bool
	// punishes: the limit has no units. It counts the denials of other limits, but not its own.
	punishes bool
	// adapts: the rate follows reported outcomes, so even a denied request writes if it includes a report.
	adapts bool
	// countsHits: the state is a single count that can exceed the limit, as Envoy counts hits.
	countsHits bool
}

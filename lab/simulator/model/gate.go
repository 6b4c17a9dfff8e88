package model

// Gate admits or denies attempts. The caller reports the outcome of each admitted attempt.
type Gate interface {
	// Allow decides an attempt. wait is the Retry-After of a denial in µs, or 0 if the gate cannot predict it.
	Allow(now int64, a Attempt) (allowed bool, wait int64)
	// Done is called once for each admitted attempt.
	Done(now int64, s Sample)
	// Limit returns the number of attempts that may be in flight, or 0 if the gate does not limit it.
	Limit() float64
}

// Attempt is one attempt of a call.
type Attempt struct {
	// Slot is unique among the attempts in flight, and is reused afterwards.
	Slot   int32
	Tenant int
	// Inflight is the number of admitted attempts in flight, including this one.
	Inflight int
}

// Sample describes an attempt that has ended: its time, and whether it failed.
type Sample struct {
	Attempt

	// Start is when the attempt was admitted. RTT is the time until its end. Both are in µs.
	Start, RTT int64
	// Left is the number of attempts still in flight.
	Left int
	// Failed is true after a timeout or a server error.
	Failed bool
}

// Load is the load of a machine as reported by its operating system: averages since the last tick.
type Load struct {
	// Own is the CPU use of the server's process group, and Host is the machine's. Both are fractions of all CPUs, from
	// 0 to 1.
	Own, Host float64
	// Runnable is the number of threads that run or wait for a CPU, assuming one thread per request.
	Runnable float64
}

// Watcher is a Gate that monitors the machine's load. Tick is called every TickEvery µs.
type Watcher interface {
	Tick(now int64, l Load)
}

// TickEvery is the interval between readings of the load, in µs.
const TickEvery = 250_000

package suggest

import (
	"fmt"
	"time"
)

// Attackers configures clients that disguise themselves, so that the limits suggested for a log become useless.
type Attackers struct {
	// Rotations is the number of sign-ins from one address within RotationTime. Their User-Agent is drawn from
	// RotationAgents values. If RotationAgents is 0, every value is new.
	Rotations      int
	RotationTime   time.Duration
	RotationAgents int
	// Decoys is the number of people whose sessions also come from the rotation's address.
	Decoys int
	// Equals is the number of clients that send identical traffic: one request every EqualEvery for EqualTime.
	Equals                int
	EqualEvery, EqualTime time.Duration
	// Flood is the number of requests from one address within FloodTime.
	Flood     int
	FloodTime time.Duration
	// Ramp is the number of clients in a ramp. Within RampTime, the first client sends RampFrom requests, and each
	// further client sends twice as many as the one before.
	Ramp, RampFrom int
	RampTime       time.Duration
}

// The kinds of clients that [Attackers] configures.
const (
	Rotator Actor = "rotator"
	Equal   Actor = "equal"
	Flooder Actor = "flooder"
	Ramper  Actor = "ramper"
)

// The addresses of attackers.
const (
	RotatorAddress = "203.0.113.7"
	FloodAddress   = "203.0.113.8"
)

// EqualAddress returns the address of the client with index i among those with identical traffic.
func EqualAddress(i int) string { return fmt.Sprintf("198.51.100.%d", i+1) }

// RampAddress returns the address of the client with index i in the ramp.
func RampAddress(i int) string { return fmt.Sprintf("198.51.101.%d", i+1) }

// attackers adds the attackers' requests, starting in the middle of the log.
func (m *maker) attackers() {
	middle := m.Start.Add(m.Length / 2)
	for i := range m.Rotations {
		n := i
		if m.RotationAgents > 0 {
			n = m.random.IntN(m.RotationAgents)
		}
		agent := fmt.Sprintf(browsers[n%len(browsers)], 1000+n)
		m.add(middle.Add(time.Duration(i)*m.RotationTime/time.Duration(m.Rotations)), RotatorAddress, Rotator, agent, "/sign-in")
	}
	for range m.Decoys {
		m.reader(RotatorAddress, Rotator, 2)
	}
	for i := range m.Equals {
		for at := time.Duration(0); at < m.EqualTime; at += m.EqualEvery {
			m.add(middle.Add(at+time.Duration(i)*time.Millisecond), EqualAddress(i), Equal, "curl/8.11", "/items")
		}
	}
	for i := range m.Flood {
		m.add(middle.Add(time.Duration(i)*m.FloodTime/time.Duration(m.Flood)), FloodAddress, Flooder, "curl/8.11", "/search?q=a")
	}
	for i := range m.Ramp {
		requests := m.RampFrom << i
		for n := range requests {
			m.add(middle.Add(time.Duration(n)*m.RampTime/time.Duration(requests)), RampAddress(i), Ramper, "curl/8.11", "/search?q=b")
		}
	}
}

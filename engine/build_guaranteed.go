package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headgate/headgate/engine/algo"
)

const (
	guaranteesAccepted = "2 to 8 classes such as 700,200-500,0: units per window, and optionally :burst and -ceiling"
	lendAccepted       = "all, down"
)

// guaranteedRate checks a guaranteed rate. It divides the rates of all classes by one divisor, so that they keep a
// common period.
func (d *draft) guaranteedRate(l *spec) error {
	n, r := &l.numbers, d.rates[0]
	if err := checkRate(r); err != nil {
		return err
	}
	n.Count, n.Period = r.Count, r.Period.Microseconds()
	if err := d.number(l, fieldNamed("burst")); err != nil {
		return err
	}
	all, err := d.guarantees(n)
	if err != nil {
		return err
	}
	if lend := d.of("lend").Word; d.has("lend") && lend != "all" && lend != "down" {
		return invalid("lend", lend, lendAccepted)
	}
	all.Down = d.of("lend").Word == "down"
	l.scale = d.reduce(n, &all)
	// The Redis scripts are exact if the burst refills within 50 years at the slowest possible guarantee, 1 unit per
	// window.
	if most := longest.Microseconds() / 2 / n.Period; n.Burst > most {
		return invalid("burst", n.Burst, fmt.Sprintf("1 to %d with these guarantees", most))
	}
	n.Guarantee(all)
	return d.number(l, fieldNamed("rank"))
}

// reduce divides the rates and the period by their greatest common divisor, and returns the divisor.
func (d *draft) reduce(n *algo.Limit, all *algo.Guarantees) int64 {
	_, _, divisor := algo.Reduce(n.Count, n.Period)
	for _, c := range all.Of[:all.N] {
		for _, rate := range []int64{c.Rate, c.Ceiling} {
			if rate > 0 {
				_, _, divisor = algo.Reduce(divisor, rate)
			}
		}
	}
	n.Count, n.Period = n.Count/divisor, n.Period/divisor
	for i := range all.Of[:all.N] {
		all.Of[i].Rate /= divisor
		all.Of[i].Ceiling /= divisor
	}
	return divisor
}

// guarantees parses the guarantees of a limit whose rate and burst are already set.
func (d *draft) guarantees(n *algo.Limit) (all algo.Guarantees, err error) {
	text := d.of("guarantees").Word
	if !d.has("guarantees") {
		return all, invalid("guarantees", remark("not set"), guaranteesAccepted)
	}
	parts := strings.Split(text, ",")
	if all.N = len(parts); all.N < 2 || all.N > algo.MaxClasses {
		return all, invalid("guarantees", text, guaranteesAccepted)
	}
	rates, bursts := int64(0), int64(0)
	for i, part := range parts {
		c, err := guarantee(strings.TrimSpace(part), n)
		if err != nil {
			return all, err
		}
		all.Of[i] = c
		rates, bursts = rates+c.Rate, bursts+c.Burst
	}
	if rates > n.Count {
		return all, invalid("guarantees", remark(text+", "+strconv.FormatInt(rates, 10)+" in all"), fmt.Sprintf("at most %d in all, the limit's rate", n.Count))
	}
	if all.Shared = n.Burst - bursts; all.Shared < 1 {
		return all, invalid("burst", n.Burst, fmt.Sprintf("%d or more: the classes' own bursts, %d, and something that all share", bursts+1, bursts))
	}
	return all, nil
}

// guarantee parses one guarantee: a rate, optionally followed by a colon and a burst, and by a hyphen and a ceiling.
func guarantee(text string, n *algo.Limit) (c algo.Guarantee, err error) {
	rest, ceiling, capped := strings.Cut(text, "-")
	rate, burst, bursts := strings.Cut(rest, ":")
	read := func(digits, number string, least, most int64) (units int64) {
		units, wrong := parseWhole(digits)
		if err == nil && (wrong != nil || units < least || units > most) {
			err = invalid("guarantees", text, fmt.Sprintf("a %s of %d to %d", number, least, most))
		}
		return units
	}
	if c.Rate = read(rate, "guarantee", 0, n.Count); err != nil {
		return c, err
	}
	if c.Burst = ownBurst(c.Rate, n); bursts {
		c.Burst = read(burst, "burst", min(1, c.Rate), n.Burst)
	}
	if capped && err == nil {
		c.Ceiling = read(ceiling, "ceiling", max(1, c.Rate), n.Count)
		c.Most = c.Burst + partOf(n.Burst, c.Ceiling-c.Rate, n.Count)
	}
	if err == nil && c.Rate == 0 && c.Burst > 0 {
		err = invalid("guarantees", remark(text), "no burst without a guarantee, which would never refill")
	}
	return c, err
}

// ownBurst returns the burst of a class that does not set one: half of the class's portion of the limit's burst, but at
// least 1.
func ownBurst(rate int64, n *algo.Limit) int64 {
	if rate == 0 {
		return 0
	}
	return max(1, (partOf(n.Burst, rate, n.Count)+1)/2)
}

func guaranteesText(l *spec) string { return "guarantees " + l.guarantees() }

func (l *spec) guarantees() string {
	n, all := l.numbers, l.numbers.Guarantees.Value()
	parts := make([]string, all.N)
	for i, c := range all.Of[:all.N] {
		parts[i] = strconv.FormatInt(c.Rate*l.scale, 10)
		if c.Burst != ownBurst(c.Rate, &n) {
			parts[i] += ":" + strconv.FormatInt(c.Burst, 10)
		}
		if c.Ceiling > 0 {
			parts[i] += "-" + strconv.FormatInt(c.Ceiling*l.scale, 10)
		}
	}
	return strings.Join(parts, ",")
}

func lendText(l *spec) string {
	if all := l.numbers.Guarantees.Value(); all.Down {
		return "lend down"
	}
	return ""
}

// partOf returns ⌈whole·part/of⌉. The argument part must not exceed the argument of.
func partOf(whole, part, of int64) int64 {
	units, _ := ceilOver(whole, part, of)
	return units
}

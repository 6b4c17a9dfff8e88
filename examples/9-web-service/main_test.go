package main

import (
	"testing"

	"github.com/headgate/headgate/examples/internal/exampletest"
)

func TestPrints(t *testing.T) {
	exampletest.Prints(t, run, `100 guesses for alice's account from 100 addresses: 5 were checked
bob, behind one of these addresses: 200
carol logs in 20 times with the right password: 20 times welcome
300 guesses for 300 accounts from one address: 100 were checked
alice searches for 1000 rows: 200
alice searches for 100 rows: 200
alice searches for -1 rows: 200
alice searches for 99999999 rows: 429
alice searches for 1 rows: 200
bob downloads 700 kB: 200
bob downloads 700 kB: 200
bob downloads 700 kB: 429
carol downloads 700 kB: 200
`)
}

package policy

import (
	"fmt"
	"strings"

	"github.com/headgate/headgate/engine"
	"github.com/headgate/headgate/engine/algo"
)

// These constants describe the accepted values of some fields, for error messages and the JSON Schema.
const (
	allAccepted       = "1 to 32"
	estimateAccepted  = "capacity"
	modeAccepted      = "exact, leased"
	headersAccepted   = "draft, draft-03, x-ratelimit, spring, off"
	unsettledAccepted = "keep, release or estimate"
	unitAccepted      = "1 to 32 of A-Z a-z 0-9 _ -"
	unitPattern       = `^[A-Za-z0-9_-]{1,32}$`
	nameAccepted      = "1 to 64 of A-Z a-z 0-9 _ . -"
	classesAccepted   = "1 to 8"
)

var (
	unitsAccepted  = fmt.Sprintf("1 to %d", algo.MaxUnits)
	weightAccepted = fmt.Sprintf("1 to %d", engine.MaxWeight)
	costAccepted   = fmt.Sprintf("0 to %d", algo.MaxUnits)
)

// rateRows and constantRows are the fields of a limit that are not in the table of package engine.
var rateRows = []engine.Field{
	{Name: "algorithm", Kind: engine.FieldWord, Accepted: strings.Join(allNames(), ", "), About: "How units are counted."},
	{Name: "rate", Kind: engine.FieldWord, Accepted: "a count per period", About: "The rate at which units refill or leave a pacer, such as 100/s, 5/1m or 30/60s."},
	{Name: "limit", Kind: engine.FieldUnits, Accepted: unitsAccepted, About: "The number of units that pass in a window or are held at the same time. At most 100000 for a log and for permits, at least 10 for fair permits. For a penalty, the number of ignored denials, 1 to 1000000."},
	{Name: "window", Kind: engine.FieldWord, Accepted: "1ms to 36525d, for a penalty to 366d; with a time zone in align also 1mo and 1y", About: "The length of a window, such as 1m, 1d or 1w."},
}

var constantRows = []engine.Field{
	{Name: "deny", Kind: engine.FieldFlag, About: "true denies every request. It replaces the algorithm."},
	{Name: "unlimited", Kind: engine.FieldFlag, About: "true admits every request. It replaces the algorithm."},
}

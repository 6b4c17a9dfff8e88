package gateway

// SetMostInFlight replaces maxInFlight. It is called before the first request.
func (g *Gateway) SetMostInFlight(n int64) { g.most = n }

// Escape writes a message of gRPC as a header has it.
var Escape = escape

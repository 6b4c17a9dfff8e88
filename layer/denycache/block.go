package denycache

import "github.com/headgate/headgate/engine"

// byOne completes a repeated denial of an operation with several limits, where the limit at index i denies. The other
// limits are set aside, because the store did not decide them.
func byOne(op *engine.Op, i int, a *engine.Answer) {
	denied := *a.Binds()
	a.Binding = i
	a.Resize(len(op.Charges))
	for j := range op.Charges {
		a.Of(j).Unchosen, a.Of(j).Unlimited = true, true
	}
	*a.Of(i) = denied
}

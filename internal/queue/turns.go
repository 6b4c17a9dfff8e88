package queue

// Turns runs one call at a time per name. Callers that arrive while a call is in flight share the next call, in order
// of arrival. The zero value is ready to use.
//
// The first waiter in each queue represents the call in flight, which runs on that call's goroutine. All others wait
// until a call includes them.
type Turns[N comparable, W any] struct{ set Set[N, struct{}, W] }

// Join adds a caller to a call, which starts immediately if none is in flight. A call runs on its own goroutine. The
// waiting argument bounds the number of waiting callers, and the most argument bounds the number of callers in a call.
// ok is false if too many callers are already waiting.
func (t *Turns[N, W]) Join(name N, caller W, waiting, most int, call func([]W)) (w *Waiter[W], ok bool) {
	first := false
	t.set.Do(name, func(q *Queue[struct{}, W]) {
		if q.Len() > waiting {
			return
		}
		w, first = q.Add(caller), q.Len() == 1
	})
	if first {
		go t.serve(name, w, most, call)
	}
	return w, w != nil
}

// Leave removes a caller that is not yet part of a call. It returns false if the caller is already part of a call.
func (t *Turns[N, W]) Leave(name N, w *Waiter[W]) (left bool) {
	t.set.Do(name, func(q *Queue[struct{}, W]) { left = !q.First(w) && q.Leave(w) })
	return left
}

// serve makes calls until the queue is empty. head is the first call's caller.
func (t *Turns[N, W]) serve(name N, head *Waiter[W], most int, call func([]W)) {
	for callers := []W{head.Value}; len(callers) > 0; {
		call(callers)
		callers = nil
		t.set.Do(name, func(q *Queue[struct{}, W]) {
			for next := head.after; next != nil && len(callers) < most; next = head.after {
				q.Leave(next)
				callers = append(callers, next.Value)
			}
			if len(callers) == 0 {
				q.Leave(head)
			}
		})
	}
}

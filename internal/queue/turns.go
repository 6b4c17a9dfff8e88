package queue

// Turns runs one call at a time for each name. Callers that arrive while a call is in flight share the next call, in
// order of arrival. The zero value is ready to use.
//
// The first waiter of each queue represents the call in flight, which its goroutine runs; all others wait until the
// call includes them.
type Turns[N comparable, W any] struct{ set Set[N, struct{}, W] }

// Join lets a caller leave with a call, at once if none is in flight. A call has up to most callers, and runs in its
// own goroutine. ok is false if waiting callers are already waiting.
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

// Leave removes a caller that is not part of a call yet. It returns false if the caller is already part of a call.
func (t *Turns[N, W]) Leave(name N, w *Waiter[W]) (left bool) {
	t.set.Do(name, func(q *Queue[struct{}, W]) { left = !q.First(w) && q.Leave(w) })
	return left
}

// serve makes calls until the queue is empty. The head of the queue is the caller of the first call.
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

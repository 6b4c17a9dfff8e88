package memstore

// queue is a binary heap of entries, the lowest bound first. Entries know their
// place in it.
type queue []*entry

func (q *queue) push(e *entry) {
	e.index = len(*q)
	*q = append(*q, e)
	q.up(e.index)
}

func (q *queue) remove(i int) {
	last := len(*q) - 1
	q.swap(i, last)
	(*q)[last] = nil
	*q = (*q)[:last]
	if i < last {
		q.up(i)
		q.down(i)
	}
}

func (q *queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if (*q)[parent].bound <= (*q)[i].bound {
			return
		}
		q.swap(i, parent)
		i = parent
	}
}

func (q *queue) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(*q); child++ {
			if (*q)[child].bound < (*q)[least].bound {
				least = child
			}
		}
		if least == i {
			return
		}
		q.swap(i, least)
		i = least
	}
}

func (q *queue) swap(i, j int) {
	h := *q
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

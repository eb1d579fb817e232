package list

import (
	"strings"
	"sync"
	"sync/atomic"
)

// atOnce is how many items are searched while a key waits, about a millisecond's
// worth. More are searched beside the face.
const atOnce = 4000

// corpus is the text of items in lower case, made when it is first searched.
type corpus struct {
	once  sync.Once
	items []Item
	label []string
	rest  []string
}

// prepare is called before each search; only the first does something.
func (c *corpus) prepare() {
	c.once.Do(func() {
		c.label, c.rest = make([]string, len(c.items)), make([]string, len(c.items))
		for i := range c.items {
			it := &c.items[i]
			c.label[i] = strings.ToLower(it.Label)
			if it.Detail != "" || it.Group != "" || it.Search != "" {
				// No word of a query holds a line end, so none is found across fields.
				c.rest[i] = strings.ToLower(it.Detail + "\n" + it.Group + "\n" + it.Search)
			}
		}
	})
}

// found is the answer to a search.
type found struct {
	words []string
	order []int32 // those that fit, best first
	// wide are those that fit or may do so for a longer query, in the items' order.
	// A query that grows is searched in these only.
	wide []int32
}

// run searches the items in from, or all. It is false when stop was set meanwhile.
func (c *corpus) run(words []string, from *found, stop *atomic.Bool) (found, bool) {
	c.prepare()
	f := found{words: words}
	n := len(c.items)
	if from != nil {
		n = len(from.wide)
	}
	var costs []uint8
	var fits []int32
	var counts [maxCost + 1]int
	for k := range n {
		if k%1024 == 0 && stop.Load() {
			return found{}, false
		}
		i := int32(k)
		if from != nil {
			i = from.wide[k]
		}
		cost, v := match(words, c.label[i], c.rest[i])
		if v == no {
			continue
		}
		f.wide = append(f.wide, i)
		if v == shown {
			fits, costs = append(fits, i), append(costs, uint8(cost))
			counts[cost]++
		}
	}
	f.order = sorted(fits, costs, &counts)
	return f, true
}

// sorted orders items by their costs; those of one cost stay in their order.
func sorted(items []int32, costs []uint8, counts *[maxCost + 1]int) []int32 {
	at := 0
	for c, n := range counts {
		counts[c] = at
		at += n
	}
	out := make([]int32, len(items))
	for k, i := range items {
		out[counts[costs[k]]] = i
		counts[costs[k]]++
	}
	return out
}

// finder searches the items of a list. Its fields belong to the face's goroutine.
type finder struct {
	corpus *corpus
	last   *found // of the corpus; nil where nothing was searched
	under  *flight
}

// flight is a search that runs beside the face.
type flight struct {
	stop   atomic.Bool
	done   chan struct{}
	result found // once done is closed
	keep   string
}

func (f *finder) reset(items []Item) {
	f.cancel()
	f.corpus, f.last = &corpus{items: items}, nil
}

func (f *finder) cancel() {
	if f.under != nil {
		f.under.stop.Store(true)
		f.under = nil
	}
}

// base is the last answer if one for words can only hold items of it.
func (f *finder) base(words []string) *found {
	if f.last == nil || len(words) < len(f.last.words) {
		return nil
	}
	for i, w := range f.last.words {
		if !strings.HasPrefix(words[i], w) {
			return nil
		}
	}
	return f.last
}

// search shows what fits the query. keep is the item that stays selected, "" for the
// best. The search of many items is shown later.
func (l *List) search(keep string) {
	l.find.cancel()
	w := words(l.query.text())
	if l.o.NoSearch || len(w) == 0 {
		l.find.last = nil
		l.apply(nil, keep)
		return
	}
	if l.o.Filter != nil {
		l.apply(valid(l.o.Filter(l.query.text(), l.items), len(l.items)), keep)
		return
	}
	from := l.find.base(w)
	n := len(l.items)
	if from != nil {
		n = len(from.wide)
	}
	c := l.find.corpus
	if n <= atOnce || l.env.Post == nil {
		var never atomic.Bool
		r, _ := c.run(w, from, &never)
		l.find.last = &r
		l.apply(r.order, keep)
		return
	}
	f := &flight{done: make(chan struct{}), keep: keep}
	l.find.under = f
	go func() {
		r, ok := c.run(w, from, &f.stop)
		f.result = r
		close(f.done)
		if ok {
			l.env.Post(func() { l.land(f) })
		}
	}()
}

// land shows what a flight has found, if it is still wanted.
func (l *List) land(f *flight) {
	if l.find.under != f {
		return
	}
	l.find.under = nil
	l.find.last = &f.result
	l.apply(f.result.order, f.keep)
	l.moved()
}

// settle waits for a search that is under way: some milliseconds for each hundred
// thousand items.
func (l *List) settle() {
	if f := l.find.under; f != nil {
		<-f.done
		l.land(f)
	}
}

// apply shows items, nil for all.
func (l *List) apply(order []int32, keep string) {
	if order == nil && len(words(l.query.text())) > 0 && !l.o.NoSearch {
		order = []int32{}
	}
	l.shown, l.at, l.top = order, 0, 0
	if keep != "" {
		l.SetSelected(keep)
	}
}

// valid drops what a filter gave that is no item.
func valid(order []int, n int) []int32 {
	out := make([]int32, 0, len(order))
	for _, i := range order {
		if i >= 0 && i < n {
			out = append(out, int32(i))
		}
	}
	return out
}

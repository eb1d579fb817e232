package editor

const (
	// maxKills and maxKillBytes bound what can be yanked; the oldest goes first,
	// the latest never.
	maxKills     = 32
	maxKillBytes = 32 << 20
)

// ring is what was killed, the latest last.
type ring struct {
	entries []string
	chain   bool // the last key killed: the next kill joins it
	yanked  bool // the last key yanked: what it inserted can be exchanged
	back    int  // which entry was yanked, 0 being the latest
	at      pos  // where
}

// push takes what was killed; kills in a row are one entry.
func (r *ring) push(text string, backward, join bool) {
	last := len(r.entries) - 1
	switch {
	case join && last >= 0 && backward:
		r.entries[last] = text + r.entries[last]
	case join && last >= 0:
		r.entries[last] += text
	default:
		r.entries = append(r.entries, text)
	}
	size := 0
	for i := len(r.entries) - 1; i >= 0; i-- {
		size += len(r.entries[i])
		if n := len(r.entries) - i; n > 1 && (n > maxKills || size > maxKillBytes) {
			r.entries = append(r.entries[:0], r.entries[i+1:]...)
			return
		}
	}
}

// remove removes the text between the cursor and p. What is kept can be yanked.
func (e *Editor) remove(p pos, keep bool) bool {
	from, to, backward := e.cur, p, false
	if p.before(e.cur) {
		from, to, backward = p, e.cur, true
	}
	if from == to {
		return false
	}
	if !keep {
		e.change(kindErase, from, to, "")
		return true
	}
	join := e.kills.chain
	text := e.change(kindOther, from, to, "")
	e.kills.push(text, backward, join)
	e.kills.chain = true
	return true
}

func (e *Editor) yank() bool {
	if len(e.kills.entries) == 0 {
		return false
	}
	e.put(e.cur, e.cur, 0)
	return true
}

// yankPop puts the entry before in the place of what was just yanked.
func (e *Editor) yankPop() bool {
	r := &e.kills
	if !r.yanked || len(r.entries) < 2 {
		return false
	}
	last := r.entries[len(r.entries)-1-r.back]
	e.put(r.at, r.at.advance(last), (r.back+1)%len(r.entries))
	return true
}

func (e *Editor) put(from, to pos, back int) {
	text := e.kills.entries[len(e.kills.entries)-1-back]
	if e.doc.size+e.folds.size+len(text) > MaxText {
		e.problem(ErrFull)
		return
	}
	e.change(kindOther, from, to, text)
	e.kills.yanked, e.kills.back, e.kills.at = true, back, from
}

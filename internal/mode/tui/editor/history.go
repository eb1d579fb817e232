package editor

// browse is the way through the history; the zero value is the present.
type browse struct {
	back   int    // entries before the present
	prefix string // what they begin with
	draft  string // the text of the present, its pastes folded
	cursor pos    // and its cursor
}

// older shows the entry before the one that is shown. The first one asked for
// decides what entries are looked for: those that begin like the text up to the
// cursor. It is false when there is none.
func (e *Editor) older() bool {
	if e.opts.History == nil {
		return false
	}
	b := e.browse
	if b.back == 0 {
		b.prefix = e.folds.expand(e.doc.slice(pos{}, e.cur))
		b.draft = e.doc.slice(pos{}, e.doc.end())
		b.cursor = e.cur
	}
	b.back++
	entry, ok := e.opts.History(b.prefix, b.back)
	if !ok || e.setText(kindHistory, clean(entry)) != nil {
		return false
	}
	e.browse = b
	return true
}

// newer shows the entry after the one that is shown, the draft after the last.
func (e *Editor) newer() bool {
	b := e.browse
	if b.back == 0 {
		return false
	}
	b.back--
	if b.back == 0 {
		e.change(kindHistory, pos{}, e.doc.end(), b.draft)
		e.place(b.cursor)
		e.rest()
		e.browse = browse{}
		return true
	}
	entry, ok := e.opts.History(b.prefix, b.back)
	if !ok || e.setText(kindHistory, clean(entry)) != nil {
		return false
	}
	e.browse = b
	return true
}

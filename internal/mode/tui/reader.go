package tui

import "github.com/burin-dev/burin/internal/mode/tui/viewer"

// reader shows the whole conversation.
type reader struct {
	*base
	*current
	panes   *panes
	work    *work
	desktop *desktop
	viewer  *viewer.Viewer // while it is shown
}

// behind opens the conversation in front of a question, for who wants to know more
// before the answer: the question comes back when it is closed.
func (r *reader) behind() {
	if r.session == nil || r.viewer != nil {
		return
	}
	r.open("")
	if p := r.viewer; p != nil {
		r.panes.raise(p)
	}
}

// open shows the whole conversation.
func (r *reader) open(string) {
	var v *viewer.Viewer
	v = viewer.New(r.env, viewer.Options{
		Log: r.session.Log(), Labels: r.talk.labels, Busy: func() bool { return r.work.on },
		OnCopy:  func(text string) { r.desktop.copy(text, "it") },
		OnClose: func() { v.Close(); r.panes.remove(v); r.viewer = nil },
	})
	r.viewer = v
	r.panes.push(v)
}

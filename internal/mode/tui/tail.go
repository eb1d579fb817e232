package tui

import "sync"

// tail keeps the end of an output that another goroutine writes.
type tail struct {
	mu   sync.Mutex
	text []byte
	told bool // that there is something new
}

// add adds a piece; it is true where the loop has to be told.
func (t *tail) add(chunk string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, chunk...)
	if len(t.text) > 2*maxShown {
		t.text = append(t.text[:0], t.text[len(t.text)-maxShown:]...)
	}
	told := t.told
	t.told = true
	return !told
}

// take gives the end as it is now.
func (t *tail) take() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = false
	return string(t.text[max(0, len(t.text)-maxShown):])
}

package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
)

// maxHead is how much of a line that is too long is kept to find its id.
const maxHead = 4 << 10

// head has the fields of every command.
type head struct {
	ID   json.RawMessage `json:"id"`
	Type string          `json:"type"`
}

// idOf returns the id in a line that may be invalid or truncated JSON, if it can be read.
func idOf(line []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		if key == "id" {
			return sound(value)
		}
	}
	return nil
}

// sound returns an id that can be sent back, a string or a number of reasonable size; else nil.
func sound(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || len(id) > maxHead || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id
}

// room limits the bytes of pending commands.
type room struct {
	mu    sync.Mutex
	freed sync.Cond
	most  int
	used  int
	over  bool
}

func newRoom(most int) *room {
	r := &room{most: most}
	r.freed.L = &r.mu
	return r
}

// take blocks until there is room for n bytes. One line always fits.
func (r *room) take(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used > 0 && r.used+n > r.most && !r.over {
		r.freed.Wait()
	}
	r.used += n
}

func (r *room) free(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.freed.Broadcast()
}

// close unblocks take for good.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.freed.Broadcast()
}

// tally counts what has begun and ended.
type tally struct {
	mu          sync.Mutex
	begun, over int
	changed     chan struct{}
}

func newTally() *tally { return &tally{changed: make(chan struct{})} }

func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun++
}

func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over++
	close(t.changed)
	t.changed = make(chan struct{})
}

// wait waits until as many have ended as had begun when it was called, or until ctx ends.
func (t *tally) wait(ctx context.Context) {
	t.mu.Lock()
	upTo := t.begun
	t.mu.Unlock()
	for {
		t.mu.Lock()
		over, changed := t.over >= upTo, t.changed
		t.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

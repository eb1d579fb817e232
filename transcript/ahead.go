package transcript

import "github.com/burin-dev/burin/llm"

// aheadSize is how much of a store is read at once if its records are adjacent, and aheadGap
// the largest gap between two of them that is read too.
const (
	aheadSize = 256 << 10
	aheadGap  = 4 << 10
)

// spans is a store whose records are pieces of one long text: [Ref.Pos] is where a record
// starts in it.
type spans interface {
	// readSpan fills b with the text at pos.
	readSpan(b []byte, pos int64) error
}

var _ spans = (*FileStore)(nil)

// ahead reads the records of a path in order. Records that are adjacent in a file are read
// together, into one buffer; others are read one by one.
type ahead struct {
	log  *Log
	path []int32
	pos  int64  // of text in the store
	text []byte // what was read ahead
	lost []Lost // of the message read last
}

// message reads the message of path[at] into m, which is empty, with the fast decoder, and
// restores its blobs. The returned time is the record's own and valid until the next call.
func (a *ahead) message(at int, m *llm.Message) (stamp []byte, ok bool) {
	l, i := a.log, a.path[at]
	if l.tree.typ(i) != TypeMessage {
		return nil, false
	}
	record, err := a.record(at)
	if err != nil {
		return nil, false
	}
	if stamp, ok = l.decoder.message(record, m); ok {
		a.lost = l.o.Blobs.restoreBlocks(l.tree.nodes[i].id, m.Content)
	}
	return stamp, ok
}

// record returns the record of path[at]. It is valid until the next call.
func (a *ahead) record(at int) ([]byte, error) {
	l, i := a.log, a.path[at]
	ref := l.tree.nodes[i].ref
	store, ok := l.store.(spans)
	if !ok || ref.Len <= 0 {
		return l.record(i)
	}
	if from := ref.Pos - a.pos; from >= 0 && from+int64(ref.Len) <= int64(len(a.text)) {
		return a.text[from : from+int64(ref.Len)], nil
	}
	end := a.reach(at)
	if end-ref.Pos > aheadSize {
		return l.record(i) // it is longer than the buffer
	}
	if a.text == nil {
		a.text = make([]byte, aheadSize)
	}
	a.pos, a.text = ref.Pos, a.text[:end-ref.Pos]
	if err := store.readSpan(a.text, a.pos); err != nil {
		a.text = a.text[:0]
		return l.record(i)
	}
	return a.text[:ref.Len], nil
}

// reach returns the end of the adjacent records from path[at] on, as far as they fit into the
// buffer.
func (a *ahead) reach(at int) int64 {
	ref := a.log.tree.nodes[a.path[at]].ref
	end := ref.Pos + int64(ref.Len)
	for _, i := range a.path[at+1:] {
		next := a.log.tree.nodes[i].ref
		to := next.Pos + int64(next.Len)
		if next.Len <= 0 || next.Pos < end || next.Pos-end > aheadGap || to-ref.Pos > aheadSize {
			break
		}
		end = to
	}
	return end
}

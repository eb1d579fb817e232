package tool

import "io"

const (
	fitMax  = 50 << 10
	fitPart = 20 << 10
)

// Fit cuts a text that is too long for a result to a head and a tail at line boundaries, keeps
// the whole as an artifact, and returns the window. Too long means more than Head and Tail
// bytes together; if both are 0, more than 50 KB, of which Fit keeps 20 KB each of the
// beginning and the end. It cuts lines only if Columns is positive. It doesn't clean the text.
func Fit(text string, o SinkOptions) Output {
	limit := o.Head + o.Tail
	if o.Head <= 0 && o.Tail <= 0 {
		limit, o.Head, o.Tail = fitMax, fitPart, fitPart
	}
	if o.Columns <= 0 {
		o.Columns = -1
	}
	w := window{headMax: max(o.Head, 0), tailMax: max(o.Tail, 0), columns: o.Columns}
	p := []byte(text)
	lines := countLines(p)
	if len(p) <= limit && !(&window{headMax: limit, columns: o.Columns}).overflows(p) {
		return Output{Text: text, Lines: lines, Shown: lines, Bytes: int64(len(p))}
	}
	if len(p) <= limit { // only some lines are too long
		w.headMax, w.tailMax = limit+len(p), 0
	}
	w.add(p)
	out := w.output(nil, lines)
	out.Bytes = int64(len(p))
	if o.Whole == 0 {
		o.Whole = defaultWhole
	}
	s := spill{artifacts: o.Artifacts, kind: o.Kind, max: o.Whole}
	if s.idle() {
		s.open(p)
		_ = s.close() // tell says why
		s.tell(&out)
	}
	return out
}

var _ io.WriteCloser = (*Sink)(nil)

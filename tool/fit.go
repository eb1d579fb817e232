package tool

import "io"

const (
	fitMax  = 50 << 10
	fitPart = 20 << 10
)

// Fit cuts a text that is too long for a result to a head and a tail on line
// borders, keeps the whole as an artifact, and returns the window. Too long is
// more than Head and Tail together; when both are 0 it is more than 50 KB, of
// which 20 KB of the beginning and of the end are then kept. Lines are cut only
// if Columns is positive. The text is not cleaned.
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

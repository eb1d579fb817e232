package export

import (
	"bufio"
	"encoding/json"
	"time"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/export/internal/markup"
)

// writer takes a page as HTML. It writes through buf, which holds one entry at a time.
// Errors of out stick to it and are seen at the end.
type writer struct {
	out *bufio.Writer
	buf []byte
}

// put appends HTML.
func (w *writer) put(html ...string) {
	for _, s := range html {
		w.buf = append(w.buf, s...)
	}
}

// text appends words that are not HTML.
func (w *writer) text(s string) { w.buf = markup.AppendText(w.buf, s) }

func (w *writer) flush() {
	w.out.Write(w.buf) //nolint:errcheck // sticks to the writer
	w.buf = w.buf[:0]
}

// json appends a string as JSON that holds no <, > or &, as a script element needs.
func (w *writer) json(s string) {
	b, err := json.Marshal(s)
	if err != nil { // strings always can be
		b = []byte(`""`)
	}
	w.buf = append(w.buf, b...)
}

// time appends a moment in layout.
func (w *writer) time(at time.Time, layout string) {
	w.put(`<time datetime="`)
	w.buf = at.AppendFormat(w.buf, time.RFC3339)
	w.put(`">`)
	w.buf = at.AppendFormat(w.buf, layout)
	w.put("</time>")
}

// limited appends at most maxText bytes of a text.
func (w *writer) limited(s string) {
	shown := prose.Head(s, maxText)
	w.text(shown)
	w.left(len(s) - len(shown))
}

// left says how much is not on the page.
func (w *writer) left(n int) {
	if n > 0 {
		w.put(`<span class="soft">… `, bytesWords(n), " more are not in this page; the export as JSON has all.</span>")
	}
}

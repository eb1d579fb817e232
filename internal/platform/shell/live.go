package shell

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/burin-dev/burin/tool"
)

// Bounds of what is passed on while a command runs.
const (
	liveInterval = 50 * time.Millisecond
	liveBytes    = 32 << 10
)

// live passes output on, cleaned, at most every liveInterval. Of what comes faster
// than it may be passed on the end is kept.
type live struct {
	emit func(string)

	mu      sync.Mutex
	raw     []byte
	cut     bool        // something before raw was dropped
	timer   *time.Timer // of the next flush; nil: none is due
	closed  bool
	last    time.Time
	pending sync.WaitGroup // flushes that are due

	emitting sync.Mutex // held while emit runs; guards what follows
	pieces   pieces
	midline  bool // the last text did not end a line
}

func (l *live) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.raw, l.cut = keepEnd(l.raw, p, liveBytes, l.cut)
	if l.timer != nil {
		return
	}
	l.pending.Add(1)
	l.timer = time.AfterFunc(max(liveInterval-time.Since(l.last), 0), func() {
		defer l.pending.Done()
		l.flush(false)
	})
}

func (l *live) flush(final bool) {
	l.emitting.Lock()
	defer l.emitting.Unlock()
	l.mu.Lock()
	raw, cut := l.raw, l.cut
	l.raw, l.cut, l.timer, l.last = nil, false, nil, time.Now()
	l.mu.Unlock()
	if text := l.clean(raw, cut, final); text != "" {
		l.midline = !strings.HasSuffix(text, "\n")
		l.emit(text)
	}
}

// clean is the text of the next piece of output. A carriage return cannot take
// back what was passed on, so it begins a line.
func (l *live) clean(raw []byte, cut, final bool) string {
	if cut {
		l.pieces.held = nil
		if i := bytes.IndexByte(raw, '\n'); i >= 0 && i < len(raw)/2 {
			raw = raw[i+1:]
		}
	}
	raw = l.pieces.whole(raw, final)
	text := ""
	if len(raw) > 0 {
		sink := tool.NewSink(tool.SinkOptions{Tail: 4 * len(raw), Columns: -1})
		_, _ = sink.Write(raw)
		_ = sink.Close()
		text = sink.Output().Text
	}
	switch {
	case cut:
		text = "[…]\n" + text
		fallthrough
	case len(raw) > 1 && raw[0] == '\r' && raw[1] != '\n':
		if l.midline {
			text = "\n" + text
		}
	}
	return text
}

// close passes on what is left. Nothing is passed on afterwards.
func (l *live) close() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil && l.timer.Stop() {
		l.pending.Done()
	}
	l.mu.Unlock()
	l.pending.Wait()
	l.flush(true)
}

// pieces cuts a stream where neither a character nor a control sequence is parted.
type pieces struct{ held []byte }

// maxHeld is how much of an unfinished sequence is held back.
const maxHeld = 4 << 10

// whole is what was held back and p, without an end that is not complete.
func (h *pieces) whole(p []byte, final bool) []byte {
	if len(h.held) > 0 {
		p = append(h.held, p...)
		h.held = nil
	}
	if final {
		return p
	}
	n := complete(p)
	if len(p)-n > maxHeld {
		return p
	}
	h.held = bytes.Clone(p[n:])
	return p[:n]
}

// complete is the length of p without a character, a control sequence or a
// carriage return at its end of which more may follow.
func complete(p []byte) int {
	if i := bytes.LastIndexByte(p, 0x1b); i >= 0 && !sequenceEnds(p[i+1:]) {
		return i
	}
	if n := len(p); n > 0 && p[n-1] == '\r' {
		return n - 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if i := len(p) - n; utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

// sequenceEnds says whether the control sequence that p begins, after its ESC,
// ends in p. There is no other ESC in p.
func sequenceEnds(p []byte) bool {
	if len(p) == 0 {
		return false
	}
	switch p[0] {
	case '[':
		return bytes.IndexFunc(p[1:], func(r rune) bool { return r < 0x20 || r >= 0x40 }) >= 0
	case ']', 'P', 'X', '^', '_':
		return bytes.ContainsAny(p, "\a\n")
	}
	return p[0] < 0x20 || p[0] >= 0x30 || len(p) > 1
}

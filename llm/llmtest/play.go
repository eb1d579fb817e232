package llmtest

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/llm/wire"
)

// play is one turn on its way to the client.
type play struct {
	srv    *Server
	turn   *Turn
	n      int
	format wire.Server
	req    *llm.Request
	r      *http.Request
	w      *faultyWriter
}

func (p *play) run(stream bool) {
	defer func() { p.srv.wrote(p.n, p.w.sent) }()
	fault := &p.turn.Fault
	for name, values := range fault.Header {
		p.w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	switch {
	case fault.StallHead:
		p.stall()
	case fault.Drop:
		panic(http.ErrAbortHandler)
	case fault.Error != nil:
		refusal := *fault.Error
		p.format.EncodeError(p.w, &refusal)
		p.w.check()
		return
	}
	head := llm.Message{API: p.format.API(), ResponseID: fmt.Sprintf("answer_%d", p.n+1)}
	if p.req.Model != nil {
		head.Model = p.req.Model.ID
	}
	enc := p.format.NewEncoder(p.w, p.req, stream)
	sent := 0
	if fault.StallAfterEvents < 0 || fault.CutAfterBytes < 0 {
		p.w.WriteHeader(http.StatusOK)
		p.w.Flush()
		p.w.check()
		p.stall()
	}
	for ev := range Perform(head, p.turn.events(p.req, p.n)) {
		if sent > 0 && !p.pause() {
			panic(http.ErrAbortHandler)
		}
		p.w.begin(sent)
		if err := enc.Encode(ev); err != nil && !errors.Is(err, errCut) {
			panic(http.ErrAbortHandler) // the client went away
		}
		p.w.check()
		sent++
		if sent == fault.StallAfterEvents {
			p.w.Flush()
			p.stall()
		}
	}
	p.w.finish()
}

// pause waits for the turn's pace and reports whether there is still someone to
// answer.
func (p *play) pause() bool {
	if p.turn.Pace <= 0 {
		return true
	}
	timer := time.NewTimer(p.turn.Pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.r.Context().Done():
	case <-p.srv.quit:
	}
	return false
}

// stall waits until the client goes away or the server is closed, and ends the
// answer there.
func (p *play) stall() {
	select {
	case <-p.r.Context().Done():
	case <-p.srv.quit:
	}
	panic(http.ErrAbortHandler)
}

var errCut = errors.New("the script cuts the connection here")

// faultyWriter does to the body of an answer what the fault says.
type faultyWriter struct {
	http.ResponseWriter
	fault  *Fault
	sent   int    // bytes of the body so far
	cut    bool   // the connection is to be closed
	damage bool   // the next frame is to be damaged
	done   bool   // it has been
	last   []byte // what was written for the last event, if it may be repeated
}

// begin prepares for an event that follows n others.
func (w *faultyWriter) begin(n int) {
	if at := w.fault.MalformedAfterEvents; at > 0 && n >= at && !w.done {
		w.damage = true
	}
	w.last = w.last[:0]
}

func (w *faultyWriter) Write(b []byte) (int, error) {
	if w.cut {
		return 0, errCut
	}
	out := b
	if w.damage {
		if i := lastBrace(b); i >= 0 {
			out = bytes.Clone(b)
			out[i] = ' '
			w.damage, w.done = false, true
		}
	}
	if w.fault.RepeatEnd {
		w.last = append(w.last, out...)
	}
	if limit := w.fault.CutAfterBytes; limit > 0 && w.sent+len(out) >= limit {
		w.cut = true
		out = out[:limit-w.sent]
	}
	n, err := w.ResponseWriter.Write(out)
	w.sent += n
	if w.cut && err == nil {
		w.Flush()
		return n, errCut
	}
	return len(b), err
}

// Flush sends what is buffered.
func (w *faultyWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// Unwrap returns the writer below to http.ResponseController.
func (w *faultyWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// check breaks the connection if the time has come.
func (w *faultyWriter) check() {
	if w.cut || w.fault.CutAfterBytes < 0 {
		panic(http.ErrAbortHandler)
	}
}

// finish sends what comes after the end.
func (w *faultyWriter) finish() {
	if w.fault.RepeatEnd {
		_, _ = w.ResponseWriter.Write(w.last)
	}
	if w.fault.Trailing != "" {
		_, _ = w.ResponseWriter.Write([]byte(w.fault.Trailing))
	}
}

// lastBrace is the index of the brace that ends the first frame in b, or -1.
// Without it a frame is no JSON any more, and one with a checksum is wrong too.
func lastBrace(b []byte) int {
	if end := bytes.Index(b, []byte("\n\n")); end >= 0 {
		if i := bytes.LastIndexByte(b[:end], '}'); i >= 0 {
			return i
		}
	}
	return bytes.LastIndexByte(b, '}')
}

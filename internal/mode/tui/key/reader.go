package key

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// escapeTimeout is how long an escape byte waits for what it may begin.
	// Sequences arrive in one piece but for networks, people need longer.
	escapeTimeout = 30 * time.Millisecond
	// sequenceTimeout is how long the rest of a sequence is waited for, once it
	// cannot be a key. It is long: what comes after it would be typed as text.
	sequenceTimeout = 2 * time.Second
	// pasteTimeout is how long a paste must have been silent for a lone Ctrl+C to
	// end it: the end mark was lost, and the keyboard would be dead for ever.
	pasteTimeout = time.Second
	// readSize is more than a terminal driver delivers at once.
	readSize = 32 << 10
	// emptyReads in a row are taken for a broken source.
	emptyReads = 100
)

// Options of a [Reader].
type Options struct {
	// EscapeTimeout is how long an escape byte waits before it is the key Esc;
	// 0 is 30 ms. Terminals that speak the kitty keyboard protocol send a whole
	// sequence for the key, and nothing is waited for.
	EscapeTimeout time.Duration
}

// A Reader makes events of what a terminal sends.
type Reader struct {
	src    io.Reader
	escape time.Duration

	mu    sync.Mutex // guards what follows: the timer's goroutine decodes too
	dec   decoder
	timer *time.Timer
	turn  int // counts reads, so that a timer that fires late is known
}

// NewReader reads src, a terminal in raw mode. Nothing is read before [Reader.Run].
func NewReader(src io.Reader, o Options) *Reader {
	r := &Reader{src: src, escape: o.EscapeTimeout}
	if r.escape <= 0 {
		r.escape = escapeTimeout
	}
	return r
}

// Run reads in the caller's goroutine and sends the events to out in order until
// the source ends (nil) or fails, or ctx ends (its error). It does not close out,
// and sends nothing once it has returned.
//
// A read under way ends with ctx only where the source has a SetReadDeadline that
// works, as a terminal has that was opened by os.OpenFile and not asked for its Fd,
// which makes it blocking; otherwise Run returns after the next byte, which is
// lost. Run may be called again, after a program that was given the terminal has
// ended; what was not complete when it returned is gone.
func (r *Reader) Run(ctx context.Context, out chan<- Event) error {
	if d, ok := r.src.(interface{ SetReadDeadline(time.Time) error }); ok {
		// The zero deadline undoes that of an earlier run; where deadlines do not
		// work, there was none.
		_ = d.SetReadDeadline(time.Time{})
		done := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			_ = d.SetReadDeadline(time.Unix(1, 0))
			close(done)
		})
		defer func() {
			if !stop() {
				<-done // or it would end the next run
			}
		}()
	}
	send := func(ev Event) {
		select {
		case out <- ev:
		case <-ctx.Done():
		}
	}
	defer r.stop()
	buf := make([]byte, readSize)
	last, empty := time.Now(), 0
	for {
		n, err := r.src.Read(buf)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if n > 0 {
			now := time.Now()
			r.take(buf[:n], now.Sub(last), send)
			last, empty = now, 0
		} else if empty++; err == nil && empty >= emptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			r.end(send)
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				return nil
			}
			return err
		}
	}
}

// take decodes what a read brought, which came silence after the one before.
func (r *Reader) take(p []byte, silence time.Duration, send func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.turn++
	if r.dec.pasting && silence >= pasteTimeout && (string(p) == "\x03" || string(p) == "\x1b[99;5u") {
		r.dec.endPaste(send)
		return
	}
	r.dec.feed(p, send)
	r.arm(send)
}

// arm starts the one timer there is, while something is pending.
func (r *Reader) arm(send func(Event)) {
	d := r.escape
	switch r.dec.pending() {
	case waitNothing:
		return
	case waitSequence:
		d = max(d, sequenceTimeout)
	}
	turn := r.turn
	r.timer = time.AfterFunc(d, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.turn == turn {
			r.dec.flush(send)
		}
	})
}

// end delivers what is pending when nothing can follow.
func (r *Reader) end(send func(Event)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	r.dec.flush(send)
	r.dec.endPaste(send)
}

// stop makes sure that no timer sends any more, and forgets what is incomplete.
func (r *Reader) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	r.turn++
	r.dec = decoder{}
}

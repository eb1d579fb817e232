package secret

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unsafe"
)

// Limits of a writer, in bytes.
const (
	maxBack  = 64 << 10 // what is held back at most
	keepBack = 16 << 10 // what is still held back when a line or block is longer than that
)

// Writer hides secrets in a stream, also those split over several writes, and
// writes to w. Whole lines are passed on as they are complete; a line, a private
// key and what else may continue on the next line is held back until it is whole.
// What comes out is what Hide makes of the whole stream, as long as nothing has
// to be held back for more than 64 KiB: then the stream is cut where no secret was
// found, and one longer than 16 KiB may lose its end. With entries whose
// expression may match across lines, everything is held back up to that limit. A
// value that is first recognized late in a stream has left where it stood before.
//
// Close writes the rest. It does not close w. The writer is for one goroutine.
func (v *Vault) Writer(w io.Writer) io.WriteCloser { return &writer{v: v, w: w} }

type writer struct {
	v    *Vault
	w    io.Writer
	held []byte
	seen int // of held, up to the last line break that was looked at
	err  error
}

var errClosed = errors.New("write to a closed writer that hides secrets")

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n := len(p)
	for len(p) > 0 && w.err == nil {
		k := min(len(p), maxBack+maxBack/2-len(w.held))
		w.held = append(w.held, p[:k]...)
		p = p[k:]
		w.pass()
	}
	if w.err != nil {
		return 0, w.err
	}
	return n, nil
}

// pass writes what can no longer become part of a secret.
func (w *writer) pass() {
	if nl := bytes.LastIndexByte(w.held, '\n') + 1; nl > w.seen && !w.v.whole {
		w.seen = nl
		w.emit(w.v.settled(w.view(nl)))
	}
	if len(w.held) > maxBack {
		w.emit(w.forced())
	}
}

// view is the beginning of what is held, until the next change of it.
func (w *writer) view(n int) string {
	if n == 0 {
		return ""
	}
	return unsafe.String(&w.held[0], n)
}

// emit writes the first n bytes of what is held.
func (w *writer) emit(n int) {
	if n == 0 || w.err != nil {
		return
	}
	_, w.err = w.w.Write(w.v.HideBytes(w.held[:n]))
	w.held = append(w.held[:0], w.held[n:]...)
	w.seen = max(0, w.seen-n)
}

// forced is where a stream is cut that has nowhere to be cut: before the part that
// is kept back, and not inside a secret.
func (w *writer) forced() int {
	text := w.view(len(w.held))
	cut := len(text) - keepBack
	if space := strings.LastIndexAny(text[:cut], " \t\n,;"); space > cut/2 {
		cut = space + 1
	}
	for _, sp := range w.v.spans(text) {
		if sp.lo < cut && cut < sp.hi {
			if sp.lo > 0 {
				return sp.lo
			}
			return sp.hi
		}
	}
	return cut
}

func (w *writer) Close() error {
	if errors.Is(w.err, errClosed) {
		return nil
	}
	w.emit(len(w.held))
	err := w.err
	w.err = errClosed
	w.held = nil
	return err
}

// settled is how much of text, which ends with a line break, cannot be changed by
// what follows it. It is the beginning of a line.
func (v *Vault) settled(text string) int {
	for {
		cut := len(text)
		hold := func(at int) {
			if at >= 0 && at < cut {
				cut = strings.LastIndexByte(text[:at], '\n') + 1
			}
		}
		// The secret of an AWS key id may stand on one of the next lines.
		tail := max(0, len(text)-awsReach-32)
		for _, id := range [...]string{"AKIA", "ASIA"} {
			if at := strings.Index(text[tail:], id); at >= 0 {
				hold(tail + at)
			}
		}
		hold(openArmor(text))
		hold(openOrphans(text))
		hold(v.openLines(text))
		if cut == len(text) {
			return cut
		}
		text = text[:cut] // what ends there now may be open in turn
	}
}

// openLines is where a value of several lines may have begun at the end of text,
// or -1.
func (v *Vault) openLines(text string) int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	longest := 0
	for _, l := range v.lines {
		for k := range len(l) {
			if l[k] == '\n' && k+1 > longest && k+1 < len(l) && strings.HasSuffix(text, l[:k+1]) {
				longest = k + 1
			}
		}
	}
	if longest == 0 {
		return -1
	}
	return len(text) - longest
}

// openArmor is where a key begins that has not ended, or an armor that is public, whose
// lines look like those of a key, or -1.
func openArmor(text string) int {
	from, at := max(0, len(text)-maxArmor), -1
	for _, mark := range [...]string{"-BEGIN ", "---- BEGIN ", "Private-Lines: ", "Public-Lines: ", encodedBegin} {
		for i := from; ; { // forward is faster, where there is none
			n := strings.Index(text[i:], mark)
			if n < 0 {
				break
			}
			at = max(at, i+n)
			i += n + 1
		}
	}
	if at < 0 {
		return -1
	}
	behind := text[at:]
	if endsArmor(behind) || strings.Contains(behind, "Private-MAC") {
		return -1
	}
	if strings.Contains(behind[:min(len(behind), 60)], "PRIVATE KEY") && len(behind) < maxPEM {
		return at
	}
	frame, diff := ruleFrame(text, at)
	for i, others := nextLine(text, at, maxRule), 0; i >= 0 && i < len(text); {
		eol := endOfLine(text, i, min(len(text), i+maxRule))
		if _, _, ok := bodyOf(text[i:eol], frame, diff); !ok {
			if others++; others > 3 {
				return -1
			}
		}
		i = eol + 1
	}
	return at
}

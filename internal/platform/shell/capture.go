package shell

import (
	"bytes"
	"cmp"
	"sync"

	"github.com/burin-dev/burin/tool"
)

// The window on the output of a command.
const (
	headBytes = 20 << 10
	tailBytes = 30 << 10
)

// capture takes the output of a command.
type capture struct {
	sink *tool.Sink
	live *live // nil: nobody watches
	news *news // nil: nobody asks for it
}

// capture makes one. It is closed by whoever made it.
func (s *Shells) capture(onOutput func(string)) *capture {
	c := &capture{sink: tool.NewSink(tool.SinkOptions{
		Head: cmp.Or(s.o.Head, headBytes), Tail: cmp.Or(s.o.Tail, tailBytes), Columns: s.o.Columns, Artifacts: s.o.Artifacts, Kind: "bash",
	})}
	if onOutput != nil {
		c.live = &live{emit: onOutput}
	}
	return c
}

func (c *capture) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.live != nil {
		c.live.write(p)
	}
	if c.news != nil {
		c.news.write(p)
	}
	return c.sink.Write(p)
}

func (c *capture) close() {
	if c.live != nil {
		c.live.close()
	}
	_ = c.sink.Close() // the output tells of the artifact's error
}

// news is what came since it was last asked for.
type news struct {
	mu     sync.Mutex
	pieces pieces
	sink   *tool.Sink
}

// newsBytes is how much of the end of the news is kept.
const newsBytes = 50 << 10

func newNews() *news { return &news{sink: newsSink()} }

func newsSink() *tool.Sink { return tool.NewSink(tool.SinkOptions{Tail: newsBytes}) }

func (n *news) write(p []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, _ = n.sink.Write(n.pieces.whole(p, false))
}

// take gives the news, and forgets it. After the last write it is final.
func (n *news) take(final bool) tool.Output {
	n.mu.Lock()
	defer n.mu.Unlock()
	if final {
		_, _ = n.sink.Write(n.pieces.whole(nil, true))
	}
	_ = n.sink.Close()
	o := n.sink.Output()
	n.sink = newsSink()
	return o
}

// late is what a shell's background processes wrote while no command ran.
type late struct {
	buf []byte
	cut bool
}

const lateBytes = 8 << 10

func (l *late) add(p []byte) {
	if len(p) > 0 {
		l.buf, l.cut = keepEnd(l.buf, p, lateBytes, l.cut)
	}
}

// flush writes it to out, with lines around it that say what it is.
func (l *late) flush(out *capture) {
	if len(l.buf) == 0 {
		return
	}
	text := l.buf
	l.buf = nil
	begin := "[background processes have written since the last command]\n"
	if l.cut {
		begin = "[the end of what background processes have written since the last command]\n"
		if i := bytes.IndexByte(text, '\n'); i >= 0 && i < len(text)/2 {
			text = text[i+1:]
		}
	}
	l.cut = false
	_, _ = out.Write([]byte(begin))
	_, _ = out.Write(text)
	if text[len(text)-1] != '\n' {
		_, _ = out.Write([]byte("\n"))
	}
	_, _ = out.Write([]byte("[end]\n"))
}

// keepEnd appends p to buf and cuts the result to its last limit bytes. It reports
// whether anything was cut now or before.
func keepEnd(buf, p []byte, limit int, cut bool) ([]byte, bool) {
	if len(p) >= limit {
		return append(buf[:0], p[len(p)-limit:]...), cut || len(buf) > 0 || len(p) > limit
	}
	if over := len(buf) + len(p) - limit; over > 0 {
		buf = buf[:copy(buf, buf[over:])]
		cut = true
	}
	return append(buf, p...), cut
}

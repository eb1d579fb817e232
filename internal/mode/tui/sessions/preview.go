package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

const (
	maxPreviews = 64      // that are kept; then all are forgotten
	tail        = 1 << 20 // bytes of a file that are read at most
	firstTail   = 64 << 10
	lastWords   = 8   // messages that are shown
	maxWords    = 600 // characters of one
)

// previews are the ends of sessions. Only one is read at a time.
type previews struct {
	kept    map[string]preview
	wanted  string
	running bool
}

type preview struct {
	words []words
	err   error
}

// words is something that was said.
type words struct {
	by   string
	text string
}

// preview gives the rows beside the list. What is not known yet is read.
func (s *Selector) preview(path string, width, height int) []string {
	if other, ok := s.others.at[path]; ok {
		return s.previewOther(other, width, height)
	}
	info, ok := s.info(path)
	if !ok {
		return nil
	}
	sign := s.env.Styles.Symbols()
	var rows []styled.Line
	muted := theme.Look{Fg: theme.Muted}
	if info.CWD != "" && height > 6 {
		folder := info.CWD
		if s.o.Folder != nil {
			folder = s.o.Folder(folder)
		}
		rows = append(rows, styled.Of(line(folder, 400), theme.Muted))
	}
	if hit, ok := s.finder.hits[path]; ok {
		rows = styled.Wrap(rows, snippet(hit), width, nil, nil)
		rows = rows[:min(len(rows), max(1, height/2))]
	}
	room := height - len(rows)
	var said []styled.Line
	p, ok := s.previews.kept[path]
	switch {
	case info.Sealed:
		said = append(said, styled.Line{{Text: "This session is encrypted.", Look: muted}})
	case !ok:
		s.read(path)
		said = append(said, styled.Line{{Text: sign.Ellipsis, Look: muted}})
	case p.err != nil:
		said = styled.Wrap(said, styled.Line{{Text: prose.Inline("It cannot be read: " + p.err.Error()), Look: theme.Look{Fg: theme.Error}}}, width, nil, nil)
	default:
		for _, w := range p.words {
			said = w.rows(said, width, max(2, room/2))
		}
	}
	said = said[max(0, len(said)-room):] // the last words count
	return s.render(append(rows, said...), width)
}

func (s *Selector) render(rows []styled.Line, width int) []string {
	out := make([]string, len(rows))
	for i, l := range rows {
		out[i] = styled.Render(s.env.Styles, styled.Truncate(l, width, s.env.Styles.Symbols().Ellipsis))
	}
	return out
}

// rows adds what was said, in at most limit rows.
func (w words) rows(rows []styled.Line, width, limit int) []styled.Line {
	color := theme.Success
	if w.by == "you" {
		color = theme.Accent
	}
	l := styled.Line{
		{Text: w.by + ": ", Look: theme.Look{Fg: color}},
		{Text: w.text, Look: theme.Look{Fg: theme.Text}},
	}
	n := len(rows)
	rows = styled.Wrap(rows, l, width, nil, styled.Line{{Text: "  "}})
	return rows[:min(len(rows), n+limit)]
}

// snippet is where a search found something, with the words that it found.
func snippet(h index.Hit) styled.Line {
	look := theme.Look{Fg: theme.Muted}
	l := styled.Line{{Text: "found: ", Look: theme.Look{Fg: theme.Warning}}}
	at := 0
	for _, m := range h.Marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(h.Snippet) {
			continue
		}
		l = append(l, styled.Span{Text: prose.Inline(h.Snippet[at:m[0]]), Look: look},
			styled.Span{Text: prose.Inline(h.Snippet[m[0]:m[1]]), Look: theme.Look{Fg: theme.Text, Mod: theme.Bold}})
		at = m[1]
	}
	return append(l, styled.Span{Text: prose.Inline(h.Snippet[at:]), Look: look})
}

// read reads the end of a session, after the one that is read now.
func (s *Selector) read(path string) {
	s.previews.wanted = path
	if s.previews.running {
		return
	}
	s.previews.running = true
	s.run(func(context.Context) { // a read of bounded size is not cut
		words, err := ending(path)
		s.post(func() {
			p := &s.previews
			p.running = false
			if p.kept == nil || len(p.kept) >= maxPreviews {
				p.kept = map[string]preview{}
			}
			p.kept[path] = preview{words, err}
			if _, ok := p.kept[p.wanted]; !ok {
				s.read(p.wanted)
			}
		})
	})
}

// ending is what was said last in a session, from the last bytes of its file: more of
// them where there is little in it.
func ending(path string) ([]words, error) {
	f, err := os.Open(path)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, errors.New(filepath.Base(path) + ": " + err.Error())
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	for n := int64(firstTail); ; n *= 4 {
		n = min(n, tail, stat.Size())
		data := make([]byte, n)
		if _, err := f.ReadAt(data, stat.Size()-n); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		whole := n == stat.Size()
		if w := spoken(data); len(w) >= lastWords/2 || whole || n == tail {
			return w, nil
		}
	}
}

// spoken are the last words in lines of a session file. The first may be cut: it is no
// JSON then, and left out.
func spoken(data []byte) []words {
	var out []words
	for len(data) > 0 && len(out) < lastWords {
		data = bytes.TrimRight(data, "\n")
		at := bytes.LastIndexByte(data, '\n') + 1
		record := data[at:]
		data = data[:at]
		if !bytes.Contains(record, []byte(`"message"`)) {
			continue
		}
		var e transcript.Entry
		if json.Unmarshal(record, &e) != nil || e.Type != transcript.TypeMessage || e.Message == nil {
			continue
		}
		if w, ok := wordsOf(e.Message); ok {
			out = append(out, w)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// wordsOf is what a message of a person or a model says; of a result, nothing.
func wordsOf(m *llm.Message) (words, bool) {
	w := words{text: line(m.Text(), maxWords)}
	switch m.Role {
	case llm.RoleUser:
		w.by = "you"
	case llm.RoleAssistant:
		w.by = "assistant"
		if strings.TrimSpace(w.text) == "" {
			var names []string
			for _, c := range m.ToolCalls() {
				names = append(names, "["+line(c.Name, 40)+"]")
			}
			w.text = strings.Join(names, " ")
		}
	default:
		return w, false
	}
	return w, w.text != ""
}

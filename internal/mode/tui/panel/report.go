package panel

import (
	"fmt"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
)

// ReportOptions say what is reported.
type ReportOptions struct {
	Title string
	// Draw makes the lines for a width, and is asked once for each width and theme. Those
	// that are wider are wrapped at spaces.
	Draw func(width int, s *theme.Styles) []styled.Line
	// Rows, where given, makes the rows themselves instead, none wider than width and none with
	// more than looks and links in them; it is asked as Draw is.
	Rows    func(width int, s *theme.Styles) []string
	OnClose func() // Esc, Enter, q
}

// maxReport is how many rows a report has; of a longer one the last row says what is
// missing.
const maxReport = 20_000

// Report is a text to scroll in, in the place of the prompt.
type Report struct {
	env  *pane.Env
	o    ReportOptions
	top  int
	page int // rows of text that were drawn last
	done bool

	rows   []string // for width and styles
	width  int
	styles *theme.Styles
}

// FullReport is a Report on the whole screen.
type FullReport struct{ *Report }

// Fullscreen is [pane.Full]'s.
func (FullReport) Fullscreen() {}

var (
	_ pane.Pane = (*Report)(nil)
	_ pane.Full = FullReport{}
)

// NewReport makes the pane.
func NewReport(env *pane.Env, o ReportOptions) *Report { return &Report{env: env, o: o} }

// Draw is [pane.Pane]'s: the title, the rows, and where they are in the whole.
func (r *Report) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(width, 1), max(height, 1)
	r.layOut(width)
	p := newPainter(View{Width: width, Styles: r.env.Styles}, height)
	if height > 2 {
		p.title(prose.Inline(r.o.Title), "")
	}
	footer := height > 1
	r.page = height - len(p.rows)
	if footer {
		r.page--
	}
	r.scroll(0)
	end := min(len(r.rows), r.top+r.page)
	p.rows = append(p.rows, r.rows[r.top:end]...)
	if footer {
		p.add(r.footer(p, end))
	}
	return p.rows, screen.Cursor{Hidden: true}
}

func (r *Report) footer(p *painter, end int) styled.Line {
	var l styled.Line
	if len(r.rows) > r.page {
		l = styled.Of(fmt.Sprintf("%d–%d of %d", r.top+1, end, len(r.rows)), theme.Muted)
		if p.sign.Ellipsis == "..." {
			l[0].Text = fmt.Sprintf("%d-%d of %d", r.top+1, end, len(r.rows))
		}
		l = append(l, styled.Span{Text: " " + p.sign.Dot + " ", Look: theme.Look{Fg: theme.Dim}})
	}
	keys := r.env.Keys.Keys(key.SelectCancel)
	if len(keys) == 0 {
		keys = []key.Key{"q"}
	}
	return append(l, styled.Span{Text: keys[0].Text(), Look: theme.Look{Fg: theme.Muted, Mod: theme.Bold}}, styled.Span{Text: " closes", Look: theme.Look{Fg: theme.Dim}})
}

// layOut wraps the lines, once for each width and theme.
func (r *Report) layOut(width int) {
	if r.width == width && r.styles == r.env.Styles {
		return
	}
	if r.o.Rows != nil {
		r.rows, r.width, r.styles = r.o.Rows(width, r.env.Styles), width, r.env.Styles
		r.rows = r.rows[:min(len(r.rows), maxReport)]
		return
	}
	lines := r.o.Draw(width, r.env.Styles)
	var wrapped []styled.Line
	left := 0
	for i, l := range lines {
		if len(wrapped) >= maxReport {
			left = len(lines) - i
			break
		}
		wrapped = styled.Wrap(wrapped, l, width, nil, nil)
	}
	p := newPainter(View{Width: width, Styles: r.env.Styles}, len(wrapped)+1)
	for _, l := range wrapped {
		p.add(l)
	}
	p.more(left, "line")
	r.rows, r.width, r.styles = p.rows, width, r.env.Styles
}

func (r *Report) scroll(by int) { r.top = max(0, min(r.top+by, len(r.rows)-r.page)) }

// Handle is [pane.Pane]'s.
func (r *Report) Handle(ev key.Event) {
	p, ok := ev.(key.Press)
	if !ok || r.done {
		return
	}
	a, _ := r.env.Keys.Lookup(key.Select, p.Key)
	switch {
	case a == key.SelectCancel, a == key.SelectConfirm, p.Key == "q":
		r.done = true
		r.o.OnClose()
	case a == key.SelectUp, p.Key == "k", p.Key == "wheelup":
		r.scroll(-1)
	case a == key.SelectDown, p.Key == "j", p.Key == "wheeldown":
		r.scroll(1)
	case a == key.SelectPageUp:
		r.scroll(-max(1, r.page-1))
	case a == key.SelectPageDown, p.Key == "space":
		r.scroll(max(1, r.page-1))
	case p.Key == "home", p.Key == "g":
		r.scroll(-len(r.rows))
	case p.Key == "end", p.Key == "shift+g":
		r.scroll(len(r.rows))
	}
}

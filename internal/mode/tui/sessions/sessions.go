// Package sessions is the pane in which one chooses an earlier session to go on with.
//
// It lists the sessions of this folder, or with Tab of all folders, newest first. What
// is typed is looked for in their titles at once, and in all that was said in them by
// the full-text index, which is brought up to date when it is first asked. Beside or
// below the list stands how the selected session ended.
//
// Nothing here waits: files are listed, read and searched in goroutines. At most one
// of each kind runs. Of what is asked meanwhile only the newest is done, and an answer
// that is not wanted any more is dropped. All of them end soon after
// [Selector.Close] or when the pane is left.
package sessions

import (
	"context"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

// Options of a selector.
type Options struct {
	Root string // the folder that holds a folder for each working directory
	CWD  string // this one
	// Index is the file of the full-text index; "": only titles are searched.
	Index string
	// Folder is a working directory as people read it; nil: as it is.
	Folder func(cwd string) string
	// Current is the path of the session that is open. It has a mark and is not deleted.
	Current string

	// Others lists conversations of other programs, and reports whether these are all. It is
	// called once, in a goroutine of its own, when burin's own sessions are listed. Nil: there are none.
	Others func(context.Context) (others []Other, all bool)

	OnOpen   func(index.Info)
	OnImport func(Other) // opens a conversation of another program
	OnCancel func()
	// OnDelete moves a session to the trash, and OnRename gives it a title. Both are
	// called in a goroutine of their own; nil: it cannot be done.
	OnDelete func(index.Info) error
	OnRename func(info index.Info, title string) error
}

// Other is a conversation of another program.
type Other struct {
	index.Info
	Program string
}

// Selector is the pane.
type Selector struct {
	env *pane.Env
	o   Options

	// run does something in a goroutine, with a context that ends with the pane.
	run    func(do func(context.Context))
	end    context.CancelFunc
	closed bool

	list     *list.List
	infos    []index.Info
	others   others
	at       map[string]int // place in infos, by path
	all      bool           // of all folders
	listing  int            // the listing that is wanted
	previews previews
	finder   finder

	asked  *list.Input // for a title
	doomed *index.Info // whether it shall be deleted is asked
	note   string
	failed bool // the note is about something that went wrong
}

var _ pane.Pane = (*Selector)(nil)

// New makes the pane and begins to list the sessions.
func New(env *pane.Env, o Options) *Selector {
	ctx, end := context.WithCancel(context.Background())
	s := &Selector{env: env, o: o, end: end, run: func(do func(context.Context)) { go do(ctx) }}
	s.list = list.New(env, list.Options{
		Title:    "Resume a session",
		Chips:    []string{"This folder", "All folders"},
		Empty:    "Looking for sessions.",
		NoMatch:  "No session matches. Esc clears the search, Tab changes the folders.",
		Hint:     s.hint(),
		Preview:  s.preview,
		OnChoose: s.open,
		OnCancel: s.leave,
		OnChip:   s.chip,
		OnQuery:  s.find,
		OnKey:    s.press,
	})
	s.load()
	return s
}

// Close ends what is under way. It may be called more than once.
func (s *Selector) Close() {
	s.closed = true
	s.end()
}

func (s *Selector) hint() string {
	words := []string{"Enter open", "Tab folders"}
	if s.o.OnRename != nil {
		words = append(words, "Ctrl+R rename")
	}
	if s.o.OnDelete != nil {
		words = append(words, "Ctrl+D delete")
	}
	return strings.Join(words, " "+s.env.Styles.Symbols().Dot+" ")
}

func (s *Selector) leave() {
	s.Close()
	if s.o.OnCancel != nil {
		s.o.OnCancel()
	}
}

// post runs f on the face's goroutine, unless the pane has ended.
func (s *Selector) post(f func()) {
	s.env.Post(func() {
		if !s.closed {
			f()
		}
	})
}

// load lists the sessions.
func (s *Selector) load() {
	s.listing++
	want, cwd := s.listing, s.o.CWD
	if s.all {
		cwd = ""
	}
	s.run(func(ctx context.Context) {
		infos, err := index.List(ctx, s.o.Root, index.ListOptions{CWD: cwd})
		s.post(func() {
			if want == s.listing {
				s.listed(infos, err)
			}
		})
	})
}

func (s *Selector) listed(infos []index.Info, err error) {
	s.infos = infos
	s.findOthers()
	switch {
	case err != nil:
		s.list.SetEmpty("The sessions cannot be listed: " + err.Error())
	case s.all:
		s.list.SetEmpty("No sessions yet. Your first prompt starts one; /import adds those of other programs. Esc closes.")
	default:
		s.list.SetEmpty("No sessions in this folder. Tab shows all folders; /import adds those of other programs. Esc closes.")
	}
	s.show()
}

// show gives the list its items.
func (s *Selector) show() {
	s.at = make(map[string]int, len(s.infos))
	items := make([]list.Item, len(s.infos))
	now := s.env.Now()
	for i := range s.infos {
		s.at[s.infos[i].Path] = i
		items[i] = s.item(&s.infos[i], now)
	}
	s.list.SetItems(append(items, s.otherItems(now)...))
}

// info is the session at a path.
func (s *Selector) info(path string) (*index.Info, bool) {
	i, ok := s.at[path]
	if !ok {
		return nil, false
	}
	return &s.infos[i], true
}

func (s *Selector) chip(i int) {
	s.all = i == 1
	s.load()
	s.find(s.list.Query())
}

func (s *Selector) open(path string) {
	if other, ok := s.others.at[path]; ok {
		s.Close()
		s.o.OnImport(other)
		return
	}
	info, ok := s.info(path)
	if !ok {
		return
	}
	s.Close()
	if s.o.OnOpen != nil {
		s.o.OnOpen(*info)
	}
}

// Draw is [pane.Pane]'s.
func (s *Selector) Draw(width, height int) ([]string, screen.Cursor) {
	width, height = max(1, width), max(1, height)
	below, at := s.below(width, height)
	if len(below) >= height {
		return below[:height], at
	}
	rows, cursor := s.list.Draw(width, height-len(below))
	if s.asked != nil {
		cursor = at
		cursor.Y += len(rows)
	} else if s.doomed != nil {
		cursor.Hidden = true
	}
	return append(rows, below...), cursor
}

// below is what stands below the list: a question, or what came of the last key.
func (s *Selector) below(width, height int) ([]string, screen.Cursor) {
	hidden := screen.Cursor{Hidden: true}
	look := theme.Look{Fg: theme.Warning}
	text := s.note
	switch {
	case s.asked != nil:
		return s.asked.Draw(width, max(1, height/2))
	case s.doomed != nil:
		text = "Move \"" + line(s.doomed.Title, 60) + "\" to the trash? Enter yes, Esc no."
		look.Mod = theme.Bold
	case s.note == "":
		return nil, hidden
	case s.failed:
		look.Fg = theme.Error
	}
	var out []string
	for i, l := range styled.Wrap(nil, styled.Line{{Text: prose.Inline(text), Look: look}}, width, nil, nil) {
		if i == 3 {
			break
		}
		out = append(out, styled.Render(s.env.Styles, l))
	}
	return out, hidden
}

// Hover is [pane.Hovered]'s.
func (s *Selector) Hover(h key.Hover) bool {
	return !s.closed && s.asked == nil && s.doomed == nil && s.list.Hover(h)
}

// Handle is [pane.Pane]'s.
func (s *Selector) Handle(ev key.Event) {
	if s.closed {
		return
	}
	p, pressed := ev.(key.Press)
	switch {
	case s.asked != nil:
		s.asked.Handle(ev)
	case s.doomed != nil && pressed:
		s.answer(p)
	case s.doomed != nil:
	default:
		s.note, s.failed = "", false
		s.list.Handle(ev)
	}
}

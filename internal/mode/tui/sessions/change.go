package sessions

import (
	"context"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

// maxTitle is how many characters a title has at most.
const maxTitle = 200

// press does the keys that change a session.
func (s *Selector) press(p key.Press, path string) bool {
	if p.Key != "ctrl+d" && p.Key != "ctrl+r" {
		return false
	}
	if other, ok := s.others.at[path]; ok {
		s.note = "This conversation belongs to " + other.Program + ". Enter imports it."
		return true
	}
	info, ok := s.info(path)
	switch {
	case !ok:
	case p.Key == "ctrl+r" && s.o.OnRename != nil:
		s.askTitle(*info)
	case p.Key == "ctrl+d" && s.o.OnDelete == nil:
	case p.Key == "ctrl+d" && path == s.o.Current:
		s.note = "This is the current session. Open another one to delete it."
	case p.Key == "ctrl+d":
		doomed := *info
		s.doomed = &doomed
	}
	return true
}

// answer takes the answer to whether a session shall be deleted.
func (s *Selector) answer(p key.Press) {
	action, _ := s.env.Keys.Lookup(key.Select, p.Key)
	doomed := *s.doomed
	s.doomed = nil
	if action == key.SelectConfirm || p.Key == "y" {
		s.change(func() error { return s.o.OnDelete(doomed) }, "The session was not deleted: ", func() {
			s.note = "Moved to the trash."
			s.drop(doomed.Path)
		})
	}
}

func (s *Selector) askTitle(info index.Info) {
	s.asked = list.NewInput(s.env, list.InputOptions{
		Title: "New title", Text: prose.Inline(info.Title),
		OnCancel: func() { s.asked = nil },
		OnDone: func(text string) {
			s.asked = nil
			title := line(text, maxTitle)
			if title == "" || title == info.Title {
				return
			}
			s.change(func() error { return s.o.OnRename(info, title) }, "The session was not renamed: ", func() {
				if at, ok := s.info(info.Path); ok {
					at.Title = title
					s.show()
				}
			})
		},
	})
}

// change does what takes time beside the face, and then says what came of it.
func (s *Selector) change(do func() error, problem string, done func()) {
	s.run(func(context.Context) { // it is done to its end
		err := do()
		s.post(func() {
			if s.failed = err != nil; s.failed {
				s.note = problem + err.Error()
				return
			}
			done()
		})
	})
}

// drop takes a session from the list.
func (s *Selector) drop(path string) {
	for i := range s.infos {
		if s.infos[i].Path == path {
			s.infos = append(s.infos[:i], s.infos[i+1:]...)
			break
		}
	}
	s.show()
}

package sessions

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/mode/tui/theme/styled"
	"github.com/burin-dev/burin/transcript/index"
)

// others are the conversations of other programs. Its fields belong to the face's goroutine.
type others struct {
	begun bool
	list  []Other
	at    map[string]Other // by path
}

// findOthers looks for conversations of other programs, once.
func (s *Selector) findOthers() {
	if s.o.Others == nil || s.others.begun {
		return
	}
	s.others.begun = true
	s.run(func(ctx context.Context) {
		found, all := s.o.Others(ctx)
		s.post(func() {
			s.others.list, s.others.at = found, make(map[string]Other, len(found))
			for _, o := range found {
				s.others.at[o.Path] = o
			}
			if !all && s.note == "" {
				s.note = "More conversations of other programs exist. /import finds them."
			}
			s.show()
		})
	})
}

// otherItems are the rows of other programs' conversations. One that was imported is
// listed as burin's session only.
func (s *Selector) otherItems(now time.Time) (items []list.Item) {
	for _, o := range s.others.list {
		if !s.all && o.CWD != s.o.CWD || slices.ContainsFunc(s.infos, func(i index.Info) bool { return i.ID == o.ID }) {
			continue
		}
		facts := []string{o.Program, age(now, o.Modified)}
		if s.all && o.CWD != "" {
			facts = append(facts, filepath.Base(o.CWD))
		}
		items = append(items, list.Item{
			ID: o.Path, Label: line(cmp.Or(o.Title, o.ID), maxTitle), Mark: "+", Detail: strings.Join(append(facts, size(o.Size)), ", "),
			Search: o.Program + "\n" + o.ID + "\n" + o.CWD,
		})
	}
	return items
}

// previewOther says what choosing a conversation of another program does.
func (s *Selector) previewOther(o Other, width, height int) []string {
	var rows []styled.Line
	if o.CWD != "" {
		folder := o.CWD
		if s.o.Folder != nil {
			folder = s.o.Folder(folder)
		}
		rows = append(rows, styled.Of(line(folder, 400), theme.Muted))
	}
	rows = styled.Wrap(rows, styled.Of("A conversation of "+o.Program+". Enter imports it and opens the copy.", theme.Text), width, nil, nil)
	return s.render(rows[:min(len(rows), height)], width)
}

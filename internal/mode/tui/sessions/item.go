package sessions

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

// item is a session as a row: its title, when and how much, what is odd about it, and
// where a search found something in it, what that is.
func (s *Selector) item(info *index.Info, now time.Time) list.Item {
	it := list.Item{ID: info.Path, Label: info.Title, Search: info.First + "\n" + info.ID}
	facts := []string{age(now, info.Modified)}
	switch {
	case info.Sealed:
		it.Label, it.Dim = "Encrypted session", true
		it.Mark = "*"
		facts = append(facts, "encrypted")
	case info.Damaged:
		it.Mark = "!"
		facts = append(facts, "damaged")
	case info.Draft:
		it.Mark = "?"
		facts = append(facts, "not answered")
	}
	if info.Path == s.o.Current {
		it.Mark = s.env.Styles.Symbols().Bullets[0]
		facts = append(facts, "open")
	}
	if s.all && info.CWD != "" {
		facts = append(facts, filepath.Base(info.CWD))
		it.Search += "\n" + info.CWD
	}
	if hit, ok := s.finder.hits[info.Path]; ok {
		facts = append(facts, hit.Snippet)
		it.Search += "\n" + s.finder.query // it is there, though not in what is shown
	} else {
		facts = append(facts, size(info.Size))
	}
	it.Detail = strings.Join(facts, ", ")
	return it
}

// age is how long ago something was, in a few letters.
func age(now, at time.Time) string {
	d := now.Sub(at)
	switch {
	case at.IsZero():
		return ""
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return number(int(d/time.Minute), "min ago")
	case d < 24*time.Hour:
		return number(int(d/time.Hour), "h ago")
	case d < 30*24*time.Hour:
		return number(int(d/(24*time.Hour)), "d ago")
	}
	return at.Local().Format("2006-01-02")
}

func number(n int, unit string) string { return fmt.Sprintf("%d %s", n, unit) }

// size is a number of bytes for reading.
func size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// line is a text on one line, of so many characters at most.
func line(text string, limit int) string {
	return prose.Inline(prose.Short(text, limit))
}

package foreign

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Kept is a conversation that another program keeps in a file of its own.
type Kept struct {
	Format   Format
	Path     string
	ID       string // of the session that an import makes of it
	CWD      string // "" where the program does not say
	Title    string
	Modified time.Time
	Size     int64 // bytes
}

// Recent lists the newest conversations under the home folder, at most limit of them:
// first those whose place names the folder cwd, then by time. It reads no more of them
// once ctx ends, and reports whether it has read all that it wanted to. Conversations in
// databases are left out.
func Recent(ctx context.Context, home, cwd string, limit int) (found []Kept, all bool) {
	var files []Kept
	for _, p := range places() {
		if p.match == nil {
			continue
		}
		root := filepath.Join(home, filepath.FromSlash(p.path))
		walkKept(root, p.match, func(path string, d fs.DirEntry) bool {
			if info, err := d.Info(); err == nil && p.format != OpenCode { // one of its conversations is many files
				files = append(files, Kept{Format: p.format, Path: path, Modified: info.ModTime(), Size: info.Size()})
			}
			return ctx.Err() == nil && len(files) < maxCounted
		})
	}
	name := strings.NewReplacer("/", "-", `\`, "-", ".", "-", ":", "-").Replace(strings.Trim(cwd, `/\`))
	near := func(k Kept) int { // programs that have a folder for each one name it so
		if name != "" && strings.Contains(filepath.Base(filepath.Dir(k.Path)), name) {
			return 0
		}
		return 1
	}
	sorting.Stable(files, func(a, b Kept) int {
		if d := near(a) - near(b); d != 0 {
			return d
		}
		return b.Modified.Compare(a.Modified)
	})
	for _, k := range files[:min(limit, len(files))] {
		for s, err := range Import(ctx, k.Path, Options{Format: k.Format}) {
			if err == nil && s.Report.Messages > 0 {
				k.ID, k.CWD, k.Title = s.Header.ID, s.Header.CWD, s.title()
				found = append(found, k)
			}
			break // an unreadable one is not offered; importing it by its path says why
		}
		if ctx.Err() != nil {
			return found, false
		}
	}
	return found, true
}

// title is the name of a conversation, or what its first prompt begins with.
func (s *Session) title() string {
	if s.Report.Title != "" {
		return s.Report.Title
	}
	for i := range s.Entries {
		if m := s.Entries[i].Message; m != nil && m.Role == llm.RoleUser && m.Text() != "" {
			return transcript.TitleOf(m.Text())
		}
	}
	return ""
}

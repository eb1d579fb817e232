package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/session"
)

// languages are the language servers of a session.
type languages struct{ seat *seat }

// List implements [session.Languages].
func (ls languages) List(context.Context) (all []session.LanguageServer, _ error) {
	for _, l := range ls.links() {
		s := l.Status()
		all = append(all, session.LanguageServer{
			ID: ls.id(l), Name: s.Name, Root: s.Root, Path: s.Path, State: string(s.State), PID: s.PID, Memory: s.Memory,
			Starts: s.Starts, Documents: s.Documents, Errors: s.Errors, Work: s.Work, Error: prose.Short(prose.Inline(s.Err), 500),
		})
	}
	return all, nil
}

// links are those that were used, and for each other server one that leads to the folder.
func (ls languages) links() []*lsp.Link {
	b := ls.seat
	pool := languageServers(b)
	for i := range b.Language.Servers {
		s := &b.Language.Servers[i]
		if !slices.ContainsFunc(pool.Links(), func(l *lsp.Link) bool { return l.Server().Name == s.Name }) {
			pool.Link(s, b.dir)
		}
	}
	return pool.Links()
}

func (ls languages) id(l *lsp.Link) string {
	if rel, err := filepath.Rel(ls.seat.dir, l.Root()); err == nil && rel != "." {
		return l.Server().Name + ":" + filepath.ToSlash(rel)
	}
	return l.Server().Name
}

// find finds one by its id.
func (ls languages) find(id string) (*lsp.Link, error) {
	var ids []string
	for _, l := range ls.links() {
		if ls.id(l) == id {
			return l, nil
		}
		ids = append(ids, ls.id(l))
	}
	return nil, fmt.Errorf("no language server %q in this session: it has %s", prose.Short(prose.Inline(id), 100), strings.Join(ids, ", "))
}

// Log implements [session.Languages].
func (ls languages) Log(_ context.Context, id string) (string, error) {
	l, err := ls.find(id)
	if err != nil {
		return "", err
	}
	return l.Log(), nil
}

// Restart implements [session.Languages].
func (ls languages) Restart(_ context.Context, id string) error {
	l, err := ls.find(id)
	if err != nil {
		return err
	}
	l.Restart()
	return nil
}

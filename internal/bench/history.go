package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/tools/reference"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
)

// maxPast is how many sessions are listed.
const maxPast = 50

// past reads the sessions of the folder: history:// lists them, history://ID is one as text.
type past struct{ seat *seat }

func (p past) read(ctx context.Context, address string) (string, error) {
	b := p.seat
	id := strings.Trim(strings.TrimPrefix(address, "history://"), "/")
	if id != "" && id == b.log.ID() {
		return reference.Transcript(b.log)
	}
	if b.AgentFile != nil && id != "" {
		if file, ok := b.AgentFile(id); ok {
			return p.file(ctx, address, file)
		}
	}
	limit := maxPast + 1
	if id != "" {
		limit = 0
	}
	var list []index.Info
	if root := sessionRoot(b); root != "" {
		var err error
		if list, err = index.List(ctx, root, index.ListOptions{CWD: b.dir, Limit: limit}); err != nil {
			return "", err
		}
	}
	if id == "" {
		return p.list(list), nil
	}
	var found []index.Info
	for _, s := range list {
		if s.ID == id {
			found = []index.Info{s}
			break
		}
		if strings.HasPrefix(s.ID, id) {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("%s: no such session in this folder; history:// lists them", address)
	case len(found) > 1:
		return "", fmt.Errorf("%s: %s begin with it: write more of the id", address, prose.Count(len(found), "session"))
	case found[0].Sealed:
		return "", fmt.Errorf("%s: the session is encrypted, and only the user reads it", address)
	}
	return p.file(ctx, address, found[0].Path)
}

// file is the session in a file as text.
func (p past) file(ctx context.Context, address, path string) (string, error) {
	l, _, err := place.Read(ctx, path, nil, transcript.Options{Blobs: transcript.NewBlobs(filepath.Join(p.seat.StateDir, "blobs"))})
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	text, err := reference.Transcript(l)
	return text, errors.Join(err, l.Close())
}

func (p past) list(list []index.Info) string {
	var b strings.Builder
	for i, s := range list {
		if i == maxPast {
			fmt.Fprintf(&b, "[Only the newest %d are listed.]\n", maxPast)
			break
		}
		title := prose.Short(s.Title, 100)
		switch {
		case s.ID == p.seat.log.ID():
			title += " (this session)"
		case s.Sealed:
			title = "(encrypted)"
		}
		fmt.Fprintf(&b, "history://%s  %s  %s\n", s.ID, s.Modified.Local().Format("2006-01-02 15:04"), title)
	}
	if b.Len() == 0 {
		return "No sessions of this folder are kept.\n"
	}
	return b.String()
}

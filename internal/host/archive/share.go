package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export"
)

// Sharing is what is about to be shared.
type Sharing struct {
	ID, Title string
	Entries   int
	Program   string // the person's own, that shares it; "": it becomes a secret gist
}

// Share puts the page of a session where others can see it, and gives its address, or what
// the person's own program says first, which is "shared" if it says nothing. sure is asked before; its
// error ends it. Nil: it is sure.
func (a *Archive) Share(ctx context.Context, which string, sure func(Sharing) error) (address string, err error) {
	page, err := a.Page(ctx, which, true)
	if err != nil {
		return "", err
	}
	script, err := a.shareScript()
	if err != nil {
		return "", err
	}
	if script == "" {
		if err := ghReady(ctx); err != nil {
			return "", err
		}
	}
	if sure != nil {
		if err := sure(Sharing{ID: page.Header.ID, Title: titleOf(page), Entries: len(page.Entries), Program: script}); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "burin-share-") // 0700
	if err != nil {
		return "", fmt.Errorf("share session: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "session-"+filepath.Base(page.Header.ID)+".html")
	if err := writeFile(file, false, func(w io.Writer) error { return export.HTML(w, page) }); err != nil {
		return "", err
	}
	if script != "" {
		if address, err = firstLine(ctx, installed.Own(ctx, script, file)); err != nil {
			return "", fmt.Errorf("share with %s: %w", script, err)
		}
		return cmp.Or(address, "shared"), nil
	}
	if address, err = gh(ctx, "gist", "create", "--public=false", file); err != nil {
		return "", fmt.Errorf("share with gh: %w", err)
	}
	return address, nil
}

// titleOf is what a person knows a session by: its name, or its first words.
func titleOf(page export.Page) string {
	if page.Title != "" {
		return page.Title
	}
	for _, e := range page.Entries {
		if e.Message != nil && e.Message.Role == llm.RoleUser {
			return transcript.TitleOf(e.Message.Text())
		}
	}
	return ""
}

// shareScript is the person's own way to share; "" if there is none. One that cannot
// run is an error: who has one does not want a gist.
func (a *Archive) shareScript() (string, error) {
	path := filepath.Join(a.paths.Config, "share")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("share session: %w", err)
	case info.IsDir(), runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s cannot be run: make it executable, or remove it to share with gh", path)
	}
	return path, nil
}

// ghReady says what is missing for a gist.
func ghReady(ctx context.Context) error {
	if _, err := installed.Find("gh"); errors.Is(err, installed.ErrPlanted) {
		return err
	} else if err != nil {
		return errors.New("cannot share: install gh (GitHub's command line), or put a program named share into burin's configuration folder")
	}
	if _, err := gh(ctx, "auth", "status"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New("gh is not logged in: run gh auth login first")
	}
	return nil
}

// killDelay is how long what a killed program has started may hold its output open.
const killDelay = time.Second

// gh runs GitHub's command.
func gh(ctx context.Context, args ...string) (string, error) {
	cmd, err := installed.Command(ctx, nil, "gh", args...)
	if err != nil {
		return "", err
	}
	return firstLine(ctx, cmd)
}

// firstLine runs a program and gives the first line that it prints. It is killed when
// ctx ends.
func firstLine(ctx context.Context, cmd *exec.Cmd) (string, error) {
	cmd.WaitDelay = killDelay
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			return "", fmt.Errorf("%w: %s", err, prose.Row(said, 300))
		}
	}
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return prose.Row(line, 2000), nil
}

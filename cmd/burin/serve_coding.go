package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/server"
	"github.com/burin-dev/burin/session"
)

// maxFolders is how many folders of one are listed.
const maxFolders = 500

// allowed reports whether a browser may begin sessions in a folder, whose links are resolved. under
// is the allowed folder in which it is.
func (k *kept) allowed(dir string) (under string, ok bool) {
	for _, root := range k.folders {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue // it isn't there now
		}
		if rel, err := filepath.Rel(root, dir); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			return root, true
		}
	}
	return "", false
}

// notAllowed says that a browser may not begin sessions in a folder.
func (k *kept) notAllowed(dir string) error {
	if len(k.folders) == 0 {
		return fmt.Errorf("%w: server.folders in config.yml names the folders in which a browser may begin sessions, and is empty", session.ErrDenied)
	}
	return fmt.Errorf("%w: %s is in none of the folders of server.folders", session.ErrDenied, dir)
}

// listFolders lists the folders in which a browser may begin sessions.
func (k *kept) listFolders(_ context.Context, path string) (list server.Folders, err error) {
	if path == "" {
		for _, root := range k.folders {
			if dir, err := filepath.EvalSymlinks(root); err == nil {
				list.Folders = append(list.Folders, folderAt(dir, words.ShortPath(dir)))
			}
		}
		return list, nil
	}
	if !filepath.IsAbs(path) {
		return list, fmt.Errorf("path: %q is not an absolute path", path)
	}
	dir, err := filepath.EvalSymlinks(path)
	if err != nil { // what is outside isn't told apart from what isn't there
		return list, k.notAllowed(path)
	}
	under, ok := k.allowed(dir)
	if !ok {
		return list, k.notAllowed(path)
	}
	found, err := os.ReadDir(dir)
	if err != nil {
		return list, fmt.Errorf("look at %s: %w", path, err)
	}
	list.Path = dir
	if dir != under {
		list.Above = filepath.Dir(dir)
	}
	for _, f := range found {
		if !f.IsDir() || strings.HasPrefix(f.Name(), ".") { // a link may lead elsewhere
			continue
		}
		if list.More = len(list.Folders) == maxFolders; list.More {
			break
		}
		list.Folders = append(list.Folders, folderAt(filepath.Join(dir, f.Name()), f.Name()))
	}
	return list, nil
}

func folderAt(dir, name string) server.Folder {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return server.Folder{Name: name, Path: dir, Repository: err == nil}
}

// sessionFolders are those with files of sessions.
func (k *kept) sessionFolders() []string {
	root := k.archive.Root()
	all := []string{root}
	found, _ := os.ReadDir(root) // without it, there are no sessions yet
	for _, f := range found {
		if f.IsDir() {
			all = append(all, filepath.Join(root, f.Name()))
		}
	}
	return all
}

// fork begins a session with a copy of what was said in another one. It is in the same folder, where whoever
// asks can already do everything with that one.
func (k *kept) fork(ctx context.Context, id, entry string) (server.Created, error) {
	path, err := k.path(ctx, id)
	if err != nil {
		return server.Created{}, err
	}
	var made archive.Created
	if entry == "" {
		made, err = k.archive.Fork(ctx, path, "")
	} else {
		made, err = k.archive.Branch(ctx, path, entry)
	}
	return server.Created{ID: made.ID}, err
}

// agentFace gives a handle of the session of a sub-agent.
func (k *kept) agentFace(ctx context.Context, id, agent, name string, answers bool) (session.Handle, error) {
	h, err := k.face(ctx, id, name, answers)
	if err != nil {
		return nil, err
	}
	of, err := h.Agents().Open(ctx, agent, name, answers)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return &agentHandle{Handle: of, session: h}, nil
}

// agentHandle is a handle of a sub-agent's session, which also keeps one of the session that it
// belongs to.
type agentHandle struct {
	session.Handle
	session session.Handle
}

// Behind is what it stands for; see [remote.Behind].
func (a *agentHandle) Behind() session.Handle { return a.Handle }

// Close implements [session.Handle].
func (a *agentHandle) Close() error { return errors.Join(a.Handle.Close(), a.session.Close()) }

package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/transcript"
)

const (
	// unsentTime is how long after a key what is being written is kept. It bounds what a
	// crash costs, and how often something is written.
	unsentTime = 2 * time.Second
	// maxUnsent is the most bytes that are kept; of what is longer nothing is.
	maxUnsent = 1 << 20
	// leastUnsent is what is worth to be kept.
	leastUnsent = 8
)

// unsent keeps what is being written, so that a crash of burin or of the machine does
// not cost it: a file of this process in drafts/ of the state folder, which goes when
// the words are sent. Pictures that were pasted are not kept: of a picture nobody can
// say what is secret in it, and what stands here is open to whoever reads the disk.
type unsent struct {
	*base
	state string              // the folder of the program's state
	hide  func(string) string // takes secrets out; nil changes nothing
	text  func() string       // what stands in the editor
	file  string
	timer *time.Timer // until it is written; nil: nothing has changed
	kept  bool        // there is a file
}

// folder is where prompts that were not sent are kept, and how the names of this
// folder's begin.
func (u *unsent) folder() (dir, prefix string) {
	return filepath.Join(u.state, "drafts"), transcript.EncodeDir(u.dir) + "."
}

// changed notes that something was written.
func (u *unsent) changed() {
	if u.timer == nil {
		u.timer = time.AfterFunc(unsentTime, func() { u.inbox.post(u.keep) })
	}
}

// keep writes what stands in the editor, or takes the file away where that is
// nothing. It passes what hides secrets in the history of prompts.
func (u *unsent) keep() {
	if u.timer != nil {
		u.timer.Stop()
		u.timer = nil
	}
	text := u.text()
	if u.hide != nil && text != "" {
		text = u.hide(text)
	}
	if len(strings.TrimSpace(text)) < leastUnsent || len(text) > maxUnsent {
		if u.kept {
			u.kept = false
			_ = os.Remove(u.file) // what stays is offered once more, and lost is nothing
		}
		return
	}
	dir, prefix := u.folder()
	if u.file == "" {
		u.file = filepath.Join(dir, fmt.Sprint(prefix, os.Getpid()))
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(u.file, []byte(text), 0o600)
	}
	u.kept = err == nil || u.kept
}

// find gives back what was being written in this folder when a burin died. It runs
// before anything is written under the number of this process: what stands there is of
// one that had it before, as programs in containers do.
func (u *unsent) find(giveBack func(string)) {
	dir, prefix := u.folder()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // there is none
	}
	var texts, paths []string
	for _, e := range entries {
		id, ours := strings.CutPrefix(e.Name(), prefix)
		pid, err := strconv.Atoi(id)
		if !ours || err != nil || pid != os.Getpid() && alive(pid) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := smallfile.Read(path, maxUnsent)
		if err != nil {
			continue
		}
		texts, paths = append(texts, string(text)), append(paths, path)
	}
	if len(texts) == 0 {
		return
	}
	u.inbox.post(func() {
		for _, text := range texts {
			giveBack(text)
		}
		u.keep() // as this process's, before the others' go
		for _, path := range paths {
			if !u.kept || path != u.file {
				_ = os.Remove(path)
			}
		}
		u.flash("this is the draft from when burin ended")
	})
}

// alive reports whether a process may live.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	if runtime.GOOS == "windows" {
		return true // finding it is the test there
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, fs.ErrPermission)
}

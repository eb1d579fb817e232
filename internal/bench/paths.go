package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/transcript"
)

// paths finds the files behind addresses that commands name. What lies in burin's own data is
// hidden from commands: a folder there is open to them once one has named it, since each session
// with open folders has a sandbox of its own.
type paths struct {
	seat *seat

	mu   sync.Mutex
	open []string // folders in burin's own data
}

// Schemes implements the commands' addresses.
func (p *paths) Schemes() []string {
	all := []string{"artifact"}
	for scheme := range p.seat.Trees {
		all = append(all, scheme)
	}
	for _, at := range p.seat.ws.Mounts() {
		if scheme, _, _ := strings.Cut(at, "://"); !slices.Contains(all, scheme) {
			all = append(all, scheme)
		}
	}
	return all
}

// File implements the commands' addresses.
func (p *paths) File(address string) (string, error) {
	b := p.seat
	scheme, rest, _ := strings.Cut(address, "://")
	if b.ws.Mounted(address) {
		name, err := b.ws.Resolve(address)
		if err != nil {
			return "", err
		}
		if strings.HasPrefix(name, Scratch) { // the sandbox opens what exists
			if _, _, err := b.ws.Below(Scratch); err != nil { // which makes the folder
				return "", err
			}
			if b.path != "" {
				p.reach(b.ws.Real(Scratch))
			}
		}
		return b.ws.Real(name), nil
	}
	if scheme == "artifact" {
		if b.kept == nil {
			return "", errors.New("no output was kept: this run has no artifacts")
		}
		dir := folderOf(b)
		file, err := transcript.NewArtifacts(dir).File(rest)
		if err == nil {
			p.reach(dir)
		}
		return file, err
	}
	tree := b.Trees[scheme]
	if tree == nil {
		return "", fmt.Errorf("%s has no file on disk", address)
	}
	file := tree.Path(address)
	if file == "" {
		if err := tree.Open(address, nothing); err != nil {
			return "", err
		}
		return "", fmt.Errorf("%s has no file on disk: use read", address)
	}
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("%s does not exist", address)
	}
	return file, nil
}

// Running implements the commands' addresses.
func (p *paths) Running() shell.Addresses { return running{p} }

// running are the paths for a command that may run: it finds the folders of the files that it
// writes.
type running struct{ *paths }

func (r running) File(address string) (string, error) {
	file, err := r.paths.File(address)
	if ws := r.seat.ws; err == nil && ws.Mounted(address) {
		if name, err := ws.Resolve(address); err == nil {
			_ = ws.Files().MkdirAll(path.Dir(name), 0o755) // a command that writes there says what is wrong
		}
	}
	return file, err
}

func nothing(fs.FS, string) error { return nil }

// reach opens a folder to the commands that start from now on.
func (p *paths) reach(dir string) {
	dir, err := filepath.Abs(dir)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && !slices.Contains(p.open, dir) {
		p.open = append(p.open, dir)
		slices.Sort(p.open)
	}
}

// reached are the open folders, and of these the one that commands may write.
func (p *paths) reached() (open, writable []string) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, dir := range p.open {
		if dir == p.seat.ws.Real(Scratch) {
			writable = append(writable, dir)
		}
	}
	return slices.Clone(p.open), writable
}

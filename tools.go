package burin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/search"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/tools/eval"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/internal/tools/reference"
	shelltools "github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/internal/tools/web"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// tools makes the tools and what they stand on. It also says which shell runs
// commands and how they are confined.
func (b *builder) tools() (tools []*tool.Tool, shellName, confined string, err error) {
	if b.engine, err = b.chooseEngine(); err != nil {
		return nil, "", "", err
	}
	b.kept = b.artifacts()
	artifacts := b.kept
	b.cache = search.NewCache()
	tools = file.New(file.Options{Workspace: b.ws, Engine: b.engine, Artifacts: artifacts, Cache: b.cache, Images: imageLimits(b.Model)})

	b.onClose(b.boxes.close)
	box, confined, err := b.confine(permission.Mode(b.Approval))
	if err != nil {
		return nil, "", "", err
	}
	so := shell.Options{Dir: b.dir, Shell: b.Shell, Artifacts: artifacts, Snapshot: true, Changed: func() { b.jobsChanged() }}
	if box != nil {
		so.Sandbox = box
	}
	shells, err := shell.Open(so)
	if err != nil {
		return nil, "", "", err
	}
	b.shells = shells
	b.onClose(shells.Close)
	tools = append(tools, shelltools.New(shelltools.Options{Workspace: b.ws, Shells: shells, Cache: b.cache})...)
	b.todo = b.restoreTodos()
	tools = append(tools, plan.New(plan.Options{Asker: b.Questioner, Current: b.todos, Changed: b.setTodos})...)
	tools = append(tools, web.New(web.Options{Transport: b.HTTP, SearXNG: b.SearXNG, Artifacts: artifacts})...)
	tools = append(tools, eval.New()...)
	tools = append(tools, reference.New(reference.Options{Log: b.log, Artifacts: artifacts})...)
	if tools, b.spare, err = b.selected(tools); err != nil {
		return nil, "", "", err
	}
	if b.Output != nil {
		result, err := newResult(b.Output)
		if err != nil {
			return nil, "", "", err
		}
		tools = append(tools, result)
	}
	if slices.ContainsFunc(tools, func(t *tool.Tool) bool { return t.Name == "bash" }) {
		shells.Warm()
	}
	return tools, shells.Name(), confined, nil
}

// imageLimits is how large pictures may be that a model of that vendor is sent. Where
// it takes larger ones it makes them smaller itself, at the same price.
func imageLimits(m *llm.Model) document.ImageLimits {
	switch m.API.Family() {
	case llm.APIResponses, llm.APICompletions:
		return document.ImageLimits{MaxEdge: 2048}
	case llm.APIGoogle:
		return document.ImageLimits{MaxEdge: 3072}
	}
	return document.ImageLimits{} // Anthropic's, which are the smallest
}

// chooseEngine gives the engine of edits: the one asked for, else the model's.
func (b *builder) chooseEngine() (edit.Engine, error) {
	if b.EditEngine == "" {
		return edit.ForModel(b.Model.ID), nil
	}
	engines := edit.Engines()
	e, ok := engines[b.EditEngine]
	if !ok {
		return nil, fmt.Errorf("there is no edit engine %q: want replace, patch, hashline or whole", b.EditEngine)
	}
	return e, nil
}

// selected are the tools to offer, in their order, and those that a person may add.
func (b *builder) selected(all []*tool.Tool) (offered, spare []*tool.Tool, err error) {
	if b.NoTools {
		return nil, all, nil
	}
	if len(b.Tools) == 0 {
		return all, nil, nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	for _, name := range b.Tools {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("there is no tool %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	for _, t := range all {
		if slices.Contains(b.Tools, t.Name) {
			offered = append(offered, t)
		} else {
			spare = append(spare, t)
		}
	}
	return offered, spare, nil
}

// writable are the folders beside the workspace that builds need: temporary files
// and caches. Only those that exist count.
func (b *builder) writable() []string {
	dirs := append([]string{tempDir()}, b.Writable...)
	dirs = append(dirs, b.AddDirs...)
	if cache, err := os.UserCacheDir(); err == nil {
		// On a new machine there is none yet, and a confined build could not make it.
		if err := os.MkdirAll(cache, 0o700); err == nil {
			dirs = append(dirs, cache)
		}
	}
	if b.UserHome != "" {
		for _, d := range []string{"go/pkg", ".npm", ".cargo/registry", ".cargo/git", ".gradle", ".m2", ".pnpm-store", ".local/share/pnpm"} {
			dirs = append(dirs, filepath.Join(b.UserHome, filepath.FromSlash(d)))
		}
	}
	return existing(dirs)
}

// secrets are what commands must not read: keys of people and of programs, and
// burin's own.
func (b *builder) secrets() []string {
	all := append([]string{}, b.Secrets...)
	if b.UserHome != "" {
		for _, d := range []string{
			".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".docker/config.json",
			".netrc", ".git-credentials", ".npmrc", ".pypirc", ".password-store", ".mozilla", ".config/google-chrome", ".config/chromium",
		} {
			all = append(all, filepath.Join(b.UserHome, filepath.FromSlash(d)))
		}
	}
	if !b.holdsOwnFiles() { // what lies in the workspace cannot be hidden from who may write there
		all = append(all, b.StateDir, b.ConfigDir)
	}
	slices.Sort(all)
	return existing(slices.Compact(all))
}

func existing(paths []string) []string {
	return slices.DeleteFunc(paths, func(p string) bool {
		if p == "" {
			return true
		}
		_, err := os.Stat(p)
		return err != nil
	})
}

// moment is what git says when the session starts.
type moment struct {
	git.Facts
	repository string
}

// startFacts asks git in the background; the function it returns waits for the answer.
func (b *builder) startFacts(ctx context.Context) func() moment {
	done := make(chan moment, 1)
	go func() {
		facts := git.Collect(ctx, b.dir)
		done <- moment{Facts: facts, repository: facts.Root}
	}()
	return func() moment { return <-done }
}

package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/platform/autorun"
	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/git"
	"github.com/burin-dev/burin/internal/platform/permission"
	"github.com/burin-dev/burin/internal/platform/private"
	"github.com/burin-dev/burin/internal/platform/sandbox"
	"github.com/burin-dev/burin/internal/platform/shell"
	"github.com/burin-dev/burin/internal/tools/code"
	"github.com/burin-dev/burin/internal/tools/eval"
	"github.com/burin-dev/burin/internal/tools/file"
	"github.com/burin-dev/burin/internal/tools/plan"
	"github.com/burin-dev/burin/internal/tools/reference"
	"github.com/burin-dev/burin/internal/tools/server"
	shelltools "github.com/burin-dev/burin/internal/tools/shell"
	"github.com/burin-dev/burin/internal/tools/web"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

// tools makes the tools and what they stand on. It also says which shell runs
// commands and how they are confined.
func (b *seat) tools() (tools []*tool.Tool, shellName, confined string, err error) {
	if b.engine, err = b.chooseEngine(); err != nil {
		return nil, "", "", err
	}
	b.kept = b.artifacts()
	artifacts := b.kept
	hub := newHub(b)
	b.files = file.NewKit(file.Options{
		Workspace: b.ws, Engine: b.engine, Artifacts: artifacts, Cache: b.cache, Images: imageLimits(b, b.Model), Learn: b.learn(), Withheld: b.policy.Withheld, URLs: addresses(b, hub), Trees: trees(b),
		ExactEdits: b.Tooling.ExactEdits, EditGenerated: b.Tooling.EditGenerated, ReadLines: b.Tooling.ReadLines,
		GrepBefore: b.Tooling.GrepBefore, GrepAfter: b.Tooling.GrepAfter,
		Targets: map[string]func(string) string{"issue": hub.Target, "pr": hub.Target},
		Calls:   map[string]func(string) string{server.Scheme: server.Resources{}.Target}, Check: checks(b),
	})
	tools = b.files.Tools()

	if b.dir != "" {
		var own []*tool.Tool
		if own, shellName, confined, err = b.shellTools(); err != nil {
			return nil, "", "", err
		}
		tools = append(tools, own...)
	}
	b.todo = b.restoreTodos()
	tools = append(tools, plan.New(plan.Options{Asker: b.questioner(), Reviewer: reviewer(b), Current: b.todos, Changed: b.setTodos, Rewinder: &b.rewinder})...)
	tools = append(tools, web.New(web.Options{Transport: b.HTTP, SearXNG: b.SearXNG, Artifacts: artifacts})...)
	tools = append(tools, eval.New()...)
	tools = append(tools, reference.New(reference.Options{Log: b.log, Artifacts: artifacts})...)
	tools = append(tools, codeTools(b)...)
	tools = append(tools, b.CrewTools...)
	tools = append(tools, serverTools(b)...) // last: they change, and caches hold up to what changes
	if tools, b.spare, err = b.selected(tools); err != nil {
		return nil, "", "", err
	}
	tools = keepPlanTool(b, tools)
	for _, t := range b.ExtraTools {
		if i := slices.IndexFunc(tools, func(own *tool.Tool) bool { return own.Name == t.Name }); i >= 0 {
			tools[i] = t
		} else {
			tools = append(tools, t)
		}
		b.spare = slices.DeleteFunc(b.spare, func(own *tool.Tool) bool { return own.Name == t.Name })
	}
	if b.Output != nil {
		result, err := newResult(b.Output)
		if err != nil {
			return nil, "", "", err
		}
		tools = append(tools, result)
	}
	if _, err := tool.NewSet(tools...); err != nil {
		return nil, "", "", err
	}
	if slices.ContainsFunc(tools, func(t *tool.Tool) bool { return t.Name == "bash" }) {
		b.shells.Warm()
	}
	return tools, shellName, confined, nil
}

// keepPlanTool offers the tool that hands over plans only from the first plan mode on, where
// nobody is there who could turn it on.
func keepPlanTool(b *seat, tools []*tool.Tool) []*tool.Tool {
	i := slices.IndexFunc(tools, func(t *tool.Tool) bool { return t.Name == session.PlanTool })
	b.handsOver = i >= 0
	if i < 0 || b.Desk.CanAsk() || b.Approval == string(permission.Plan) {
		return tools
	}
	b.spare = append(b.spare, tools[i])
	return slices.Delete(tools, i, i+1)
}

// shellTools opens the shells of a session, and makes their tools.
func (b *seat) shellTools() (tools []*tool.Tool, shellName, confined string, err error) {
	b.paths = &paths{seat: b}
	b.autorun = autorun.New(b.dir, b.replaced())
	box, confined, err := b.confine(permission.Mode(b.Approval))
	if err != nil {
		return nil, "", "", err
	}
	so := shell.Options{Dir: b.dir, Shell: b.Shell, Own: cmp.Or(b.UserShell, b.Shell, shell.Person(b.variable("SHELL"))), Artifacts: b.kept, Snapshot: true, MaxJobs: b.MaxJobs, Head: b.Tooling.OutputHead, Tail: b.Tooling.OutputTail, Columns: b.Tooling.OutputColumns, Changed: func() { b.jobsChanged() }, Named: b.learnFiles()}
	if box != nil {
		so.Sandbox = box
	}
	if b.shells, err = shell.Open(so); err != nil {
		return nil, "", "", err
	}
	b.onClose(b.shells.Close)
	tools = shelltools.New(shelltools.Options{
		Workspace: b.ws, Shells: b.shells, Cache: b.cache, Autorun: b.autorun, MaxTimeout: b.MaxTimeout,
		AutoBackground: b.AutoBackground, NoBackground: b.NoBackground, KeepTail: b.Tooling.KeepTail, Addresses: b.paths, Workers: b.Workers, Screens: screens{b.Desk.Screens},
	})
	return tools, b.shells.Name(), confined, nil
}

// replaced is where versions are kept of files that git executes, which a command wrote
// where walls do not keep it from them; empty: they stay as they are.
func (b *seat) replaced() string {
	how, err := b.sandboxMode(permission.Mode(b.Approval))
	if err != nil || how == sandbox.Full || b.StateDir == "" || b.own || sandbox.Available().Walls {
		return ""
	}
	return filepath.Join(b.StateDir, "replaced")
}

// imageLimits is how large pictures may be that a model of that vendor is sent. Where
// it takes larger ones it makes them smaller itself, at the same price.
func imageLimits(b *seat, m *llm.Model) document.ImageLimits {
	var l document.ImageLimits // Anthropic's, which are the smallest
	if b.LargeImages {
		l.Keep = 8000 // Anthropic refuses more
	}
	switch m.API.Family() {
	case llm.APIResponses, llm.APICompletions:
		l.MaxEdge = 2048
	case llm.APIGoogle:
		l.MaxEdge = 3072
	}
	return l
}

// Adapt implements [session.Ground]: the format of edits, unless one is asked for, and the
// size of pictures follow the model.
func (g ground) Adapt(m *llm.Model) []*tool.Tool {
	b := g.seat
	if b.guest != nil {
		return nil
	}
	engine := b.engine
	if b.EditEngine == "" {
		engine = engineFor(b.EditVariants, m.ID)
	}
	return slices.DeleteFunc(b.files.For(engine, imageLimits(b, m)), func(t *tool.Tool) bool {
		return slices.ContainsFunc(b.ExtraTools, func(own *tool.Tool) bool { return own.Name == t.Name })
	})
}

// chooseEngine gives the engine of edits: the one asked for, else the model's.
func (b *seat) chooseEngine() (edit.Engine, error) {
	if b.EditEngine == "" {
		return engineFor(b.EditVariants, b.Model.ID), nil
	}
	engines := edit.Engines()
	e, ok := engines[b.EditEngine]
	if !ok {
		return nil, fmt.Errorf("there is no edit engine %q: want replace, patch, hashline or whole", b.EditEngine)
	}
	return e, nil
}

// engineFor is the engine of a model: that of the settings, else the one it was trained for.
func engineFor(variants map[string]string, id string) edit.Engine {
	var best string
	for part := range variants {
		if strings.Contains(id, part) && len(part) > len(best) {
			best = part
		}
	}
	if e, ok := edit.Engines()[variants[best]]; ok {
		return e
	}
	return edit.ForModel(id)
}

// selected are the tools to offer, in their order, and those that a person may add.
func (b *seat) selected(all []*tool.Tool) (offered, spare []*tool.Tool, err error) {
	if b.NoTools {
		return nil, all, nil
	}
	if len(b.Tools) == 0 {
		for _, t := range all {
			if slices.Contains(b.Without, t.Name) {
				spare = append(spare, t)
			} else {
				offered = append(offered, t)
			}
		}
		return offered, spare, nil
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
	}
	for _, name := range b.Tools {
		if !slices.Contains(names, name) && b.Under == nil && name != code.Name && !strings.HasPrefix(name, server.Prefix) { // a sub-agent gets what there is of them
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

// cacheVariables name the caches of builds that are not where they usually are.
var cacheVariables = []string{"GOCACHE", "GOMODCACHE", "npm_config_cache", "PIP_CACHE_DIR", "UV_CACHE_DIR", "YARN_CACHE_FOLDER"}

// writable are the folders beside the workspace that builds need: temporary files
// and caches. Only those that exist count.
func (b *Bench) writable() []string {
	return existing(slices.Concat(b.Writable, b.AddDirs, Caches(b.UserHome)))
}

// Caches are the folders outside a workspace that builds and package managers write: for temporary
// files, and caches below the home folder or where the environment has them.
func Caches(home string) []string {
	dirs := []string{tempDir()}
	for _, name := range cacheVariables {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		// On a new machine there is none yet, and a confined build could not make it.
		_ = os.MkdirAll(cache, 0o700)
	}
	return existing(append(dirs, installed.Caches(home)...))
}

// secrets are what commands must not read: keys of people and of programs, and
// burin's own.
func (b *Bench) secrets() []string {
	all := append([]string{}, b.Secrets...)
	if b.UserHome != "" {
		all = append(all, b.hidden()...)
	}
	if !b.own { // what lies in the workspace cannot be hidden from who may write there
		all = append(all, b.StateDir, b.ConfigDir)
	}
	slices.Sort(all)
	return existing(slices.Compact(all))
}

// findSecrets begins to look for the secret places, which takes a moment and is needed when
// commands are confined and when the first call is judged.
func (b *Bench) findSecrets() {
	if b.UserHome == "" {
		return
	}
	b.private = private.Find(b.UserHome, b.variable)
	b.hidden = sync.OnceValue(b.private.Hidden)
	go func() {
		b.hidden()
		sandbox.Available() // tried once
	}()
}

// variable is the value of a variable of the environment that the session was given, else
// of the program's own.
func (b *Bench) variable(name string) string {
	for _, v := range slices.Backward(b.Environ) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return os.Getenv(name)
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
func (b *seat) startFacts(ctx context.Context) func() moment {
	if b.dir == "" {
		return func() moment { return moment{} }
	}
	done := make(chan moment, 1)
	go func() {
		facts := git.Collect(ctx, b.dir)
		done <- moment{Facts: facts, repository: facts.Root}
	}()
	return func() moment { return <-done }
}

// tempDir is the folder of temporary files that commands may write to.
func tempDir() string {
	if dir, err := filepath.EvalSymlinks(os.TempDir()); err == nil {
		return dir
	}
	return os.TempDir()
}

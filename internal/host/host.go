// Package host is what every face needs around sessions, and no face does itself: it reads
// the settings, finds models and the keys to them, opens sessions, and keeps the account of
// what they cost.
//
// Nothing is opened before it is needed. What is set in a [Session] holds over the
// settings of the user; what isn't is found.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/burin-dev/burin/internal/bench"
	files "github.com/burin-dev/burin/internal/customize/command"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/skill"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	ledger "github.com/burin-dev/burin/internal/model/usage"
	"github.com/burin-dev/burin/internal/platform/mcp"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/transcript/place"
)

// Options of a host. Paths is required.
type Options struct {
	Paths  config.Paths
	Dir    string              // where burin works, without symbolic links; "" is the working directory
	Getenv func(string) string // nil is os.Getenv
	Roles  map[string]string   // models of roles, over those of the settings
	Tuning catalog.Tuning      // how models are asked, over models.yml and the settings
	// Overlays are files of settings over those of the user and the project, as
	// config.OverlayPath gives them.
	Overlays []string
	Flags    []config.Flag // shown where settings are shown; they do nothing by themselves
	Version  string        // of burin, for exported pages
	// Keys asks for the keys of encrypted sessions; nil: they are refused.
	Keys func(context.Context) place.Keys
	// Warn is told what a person should know of settings, models and the account, a line
	// each; nil: nobody is.
	Warn func(string)
}

// Host is the surroundings of sessions. It is safe for concurrent use.
type Host struct {
	o        Options
	dump     *connect.Dump
	commands atomic.Pointer[files.Set] // nil: to be looked for
	layers   func() config.Layers
	settings atomic.Pointer[config.Config] // as they were last
	skills   atomic.Pointer[skill.Set]     // the same
	agents   atomic.Pointer[subagent.Set]  // as a session last asked for them

	commit pending // of /commit
	pool   func() *mcp.Pool

	stranger sync.Once // the user was told of a repository that is not theirs

	life    context.Context // of what runs in the background
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	models  *connect.Models   // nil: they are not open
	old     []*connect.Models // that sessions may use
	account *ledger.Ledger    // nil: it is not open
	benches map[string]*shared
}

// New is a host. It opens nothing.
func New(o Options) (*Host, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	if o.Keys == nil {
		o.Keys = func(context.Context) place.Keys { return nil }
	}
	if o.Dir == "" {
		dir, err := archive.WorkDir()
		if err != nil {
			return nil, err
		}
		o.Dir = dir
	}
	h := &Host{o: o, dump: new(connect.Dump), benches: map[string]*shared{}}
	h.layers = sync.OnceValue(func() config.Layers { return findLayers(h) })
	h.pool = sync.OnceValue(func() *mcp.Pool { return newPool(h) })
	h.life, h.end = context.WithCancel(context.Background())
	return h, nil
}

// Close closes what was opened. Sessions are closed before. Whoever is in a hurry, because
// ctx has ended, does not wait until keys are renewed.
func (h *Host) Close(ctx context.Context) error {
	h.end()
	h.running.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.account != nil {
		if err = h.account.Close(); err != nil {
			err = fmt.Errorf("what was spent is not kept: %w", err)
		}
		h.account = nil
	}
	if ctx.Err() != nil {
		return err
	}
	for _, m := range append(h.old, h.models) {
		if m != nil {
			m.Close()
		}
	}
	h.old, h.models = nil, nil
	return err
}

// background runs work while the person does something else. Close ends it.
func background(h *Host, work func(context.Context)) { h.running.Go(func() { work(h.life) }) }

// Dir is where burin works, without symbolic links.
func (h *Host) Dir() string { return h.o.Dir }

// Paths are where burin's own files lie.
func (h *Host) Paths() config.Paths { return h.o.Paths }

// Settings are those that apply here, as the files have them now. They are not to be changed.
func (h *Host) Settings() (*config.Config, error) {
	last := h.settings.Load()
	c, err := h.layers().Load(last)
	if err != nil || c == last || !h.settings.CompareAndSwap(last, c) {
		return c, err
	}
	h.tellOnce(c.Older())
	for _, w := range c.Warnings() {
		if last == nil || !slices.Contains(last.Warnings(), w) {
			h.o.Warn(w)
		}
	}
	return c, nil
}

// tellOnce warns of what the files of settings call otherwise today, unless it did so before.
func (h *Host) tellOnce(lines []string) {
	if len(lines) == 0 {
		return
	}
	file, text := filepath.Join(h.o.Paths.State, "older-settings"), strings.Join(lines, "\n")
	if told, err := smallfile.Read(file, smallfile.Settings); err == nil && string(told) == text {
		return
	}
	for _, line := range lines {
		h.o.Warn(line)
	}
	if os.MkdirAll(h.o.Paths.State, 0o700) == nil {
		_ = os.WriteFile(file, []byte(text), 0o600) // else it is told again
	}
}

func findLayers(h *Host) config.Layers {
	return config.Layers{
		Folder: h.o.Paths.Config, Project: h.project(), Overlays: h.o.Overlays, Getenv: h.o.Getenv, Flags: h.o.Flags,
	}
}

func (h *Host) project() config.Project {
	home, _ := os.UserHomeDir() // without one there is nothing to tell apart
	return config.Project{Dir: h.o.Dir, Root: h.repository(h.o.Dir), Home: home, Trusted: h.trustsSettings}
}

// ProjectSettings is the settings file of the project in the folder, there or not; "" where
// that would be the user's own.
func (h *Host) ProjectSettings() string { return h.project().File(config.File(h.o.Paths.Config)) }

// Models are the models and the keys to them, opened at the first call. The caller leaves
// them open.
func (h *Host) Models() (*connect.Models, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models != nil {
		return h.models, nil
	}
	models, err := h.OpenModels()
	if err != nil {
		// Without models.yml the prompt might go to another host than the user set for it,
		// so it goes nowhere.
		if models != nil {
			models.Close()
		}
		return nil, err
	}
	h.models = models
	return models, nil
}

// OpenModels opens models of the caller's own. They are not nil, and must be closed, also
// where only models.yml is at fault: then they are the built-in ones.
func (h *Host) OpenModels() (*connect.Models, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // only lists with "~" need it
	var keyring credential.Keyring
	if h.o.Getenv("BURIN_NO_KEYRING") != "" {
		keyring = credential.NoKeyring()
	}
	return connect.Open(connect.Options{
		Keyring:   keyring,
		Warn:      func(s string) { h.o.Warn(s + "; using another key") },
		ConfigDir: h.o.Paths.Config, DataDir: h.o.Paths.Data, CacheDir: h.o.Paths.Cache, WorkDir: h.o.Dir, UserHome: home,
		ProviderOrder: settings.ModelProviderOrder, Enabled: settings.EnabledModels, Disabled: settings.DisabledProviders,
		Roles: settings.ModelRoles, RoleFlags: h.o.Roles, OAuth: settings.OAuth,
		Tuning: tuningOf(settings), TuningFlags: h.o.Tuning,
		Dump:       h.dump,
		FirstEvent: milliseconds(settings.Stream.FirstEventTimeoutMS), Idle: milliseconds(settings.Stream.IdleTimeoutMS),
		NoContent: milliseconds(settings.Stream.NoContentTimeoutMS),
	})
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// Reload has the next call of Models read the settings anew. Sessions that are open keep
// the models that they have.
func (h *Host) Reload() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.models != nil {
		h.old = append(h.old, h.models)
		h.models = nil
	}
}

// Dump has the next request to a model written to path, and its answer beside it; done is
// called when it is.
func (h *Host) Dump(path string, done func(error)) error { return h.dump.Next(path, done) }

// Ledger is the account, opened at the first call. The caller leaves it open.
func (h *Host) Ledger(ctx context.Context) (*ledger.Ledger, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.account == nil {
		account, err := ledger.Open(ctx, h.o.Paths.Data)
		if err != nil {
			return nil, err
		}
		h.account = account
	}
	return h.account, nil
}

// FileCommands are the commands that are files, looked for at the first call after a session was
// opened.
func (h *Host) FileCommands() *files.Set {
	set := h.commands.Load()
	if set == nil {
		set = findCommands(h)
		h.commands.Store(set)
	}
	return set
}

// Archive is what is done with sessions as a whole, by the settings as they are now. warn
// is told what a person should know; nil is whom the host warns.
func (h *Host) Archive(warn func(string)) (*archive.Archive, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	if warn == nil {
		warn = h.o.Warn
	}
	return archive.New(archive.Options{Paths: h.o.Paths, Settings: settings, Keys: h.o.Keys, Warn: warn, Version: h.o.Version}), nil
}

// crumbs is the folder of the notes which session each terminal used.
func (h *Host) crumbs() string { return filepath.Join(h.o.Paths.Data, "terminal-sessions") }

// Crumb notes that a terminal uses the session in a file. It is a convenience: where it
// cannot be written, nothing is said. A terminal without a name is none.
func (h *Host) Crumb(terminal, dir, path string) {
	if terminal == "" || path == "" {
		return
	}
	if err := os.MkdirAll(h.crumbs(), 0o700); err != nil {
		return
	}
	_ = os.WriteFile(filepath.Join(h.crumbs(), terminal), []byte(dir+"\n"+path+"\n"), 0o600)
}

// Past says with which session to go on.
type Past struct {
	archive.Resumption
	Terminal string       // whose last session may be meant; "" is none
	Hidden   bool         // a name that holds a secret is refused
	Warn     func(string) // as of Archive
}

// Resume is the file of the session to go on with; "" is a new one.
func (h *Host) Resume(ctx context.Context, p Past) (string, error) {
	if p.Last && p.Terminal != "" {
		p.Note = filepath.Join(h.crumbs(), p.Terminal)
	}
	store, err := h.Archive(p.Warn)
	if err != nil {
		return "", err
	}
	path, err := store.Resume(ctx, p.Resumption, h.o.Dir)
	if err == nil && p.Hidden {
		err = store.Nameable(ctx, path)
	}
	return path, err
}

// findCommands looks for the commands that are files.
func findCommands(h *Host) *files.Set {
	set, warnings := files.Discover(h.Sources())
	for _, w := range warnings {
		h.o.Warn(w)
	}
	return set.WithBundled()
}

// Sources says where files of programs are looked for.
func (h *Host) Sources() source.Options { return h.sourcesAt(h.o.Dir) }

// sourcesAt is sources for another folder than the host's.
func (h *Host) sourcesAt(dir string) source.Options {
	home, _ := os.UserHomeDir() // without one the user has none
	o := source.Options{
		Dir: dir, Root: h.repository(dir), ConfigDir: h.o.Paths.Config, UserHome: home, Getenv: h.o.Getenv,
	}
	var allow, deny []string
	if settings, err := h.Settings(); err == nil { // who opens a session says what is wrong with them
		o.Off, allow, deny = settings.DisabledSources, settings.Permissions.Allow, settings.Permissions.Deny
	}
	o.Withheld = bench.Withheld(dir, h.permissionFile(), allow, deny)
	return o
}

// usagef is a mistake in how the program was called.
func usagef(format string, args ...any) error {
	return archive.UsageError{Err: fmt.Errorf(format, args...)}
}

// asUsage makes an error such a mistake.
func asUsage(err error) error {
	if err == nil || errors.As(err, new(archive.UsageError)) {
		return err
	}
	return archive.UsageError{Err: err}
}

// Permissions are the rules that hold in the folder.
func (h *Host) Permissions() (*bench.Permissions, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, err
	}
	return bench.OpenPermissions(h.o.Dir, h.permissionFile(), settings.Permissions.Allow, settings.Permissions.Deny)
}

// permissionFile is where lasting grants are kept.
func (h *Host) permissionFile() string { return filepath.Join(h.o.Paths.Config, "permissions.json") }

// Changes are what sessions have changed in the folder. The caller closes them.
func (h *Host) Changes() (*bench.Changes, error) { return bench.OpenChanges(h.o.Dir, h.o.Paths.Data) }

package host

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/rule"
)

// rules gives a session the rules of its workspace, unless it has others or wants no files.
func (h *Host) rules(o *Session, settings *config.Config) {
	if o.Guidance.Rules != nil || o.Ground.NoFiles || o.Ground.Files != nil {
		return
	}
	live := &liveRules{o: h.ruleOptions(o.Ground.Dir, settings), warn: o.Warn}
	live.o.Withheld = bench.Withheld(o.Ground.Dir, o.Ground.PermissionFile, o.Ground.Allow, o.Ground.Deny)
	live.stamp = rule.Stamp(live.o.Options) // before they are read: what changes meanwhile is read again
	live.find()
	o.Guidance = bench.Guidance{
		Rules: live.set, Interrupt: settings.Text("ttsr.interruptMode"), Keep: settings.Text("ttsr.contextMode") == "keep",
		Reload: live.reload, InFolder: func(folder string) []rule.Rule { return rule.InFolder(live.o, folder) },
	}
	if settings.Text("ttsr.repeatMode") == "after-gap" {
		o.Guidance.Gap = settings.Int("ttsr.repeatGap")
	}
	urls := map[string]func(context.Context, string) (string, error){"rule": live.read}
	maps.Copy(urls, o.URLs)
	o.URLs = urls
}

// liveRules are the rules of a session, as the files have them before each prompt.
type liveRules struct {
	o    rule.Options
	warn func(string)

	mu    sync.Mutex
	stamp string // of the files
	set   *rule.Set
	told  []string // warnings
}

// find reads the rules, and warns of what it has not warned of before.
func (l *liveRules) find() {
	set, warnings := rule.Discover(l.o)
	for _, w := range warnings {
		if !slices.Contains(l.told, w) {
			l.warn(w)
		}
	}
	l.set, l.told = set, warnings
}

// reload gives the rules if a file has changed; nil: none has.
func (l *liveRules) reload() *rule.Set {
	stamp := rule.Stamp(l.o.Options)
	l.mu.Lock()
	defer l.mu.Unlock()
	if stamp == l.stamp {
		return nil
	}
	l.stamp = stamp
	l.find()
	return l.set
}

// read gives a rule by its address.
func (l *liveRules) read(ctx context.Context, url string) (string, error) {
	l.mu.Lock()
	set := l.set
	l.mu.Unlock()
	return set.Read(ctx, url)
}

func (h *Host) ruleOptions(dir string, settings *config.Config) rule.Options {
	return rule.Options{
		Options: h.sourcesAt(dir), Disabled: settings.TTSR.DisabledRules,
		NoBuiltin: !settings.Bool("ttsr.builtinRules"), NoStream: !settings.Bool("ttsr.enabled"),
	}
}

// Rules finds the rules of the folder as they are now. Warnings say what was left out.
func (h *Host) Rules() (*rule.Set, []string, error) {
	settings, err := h.Settings()
	if err != nil {
		return nil, nil, err
	}
	set, warnings := rule.Discover(h.ruleOptions(h.o.Dir, settings))
	return set, warnings, nil
}

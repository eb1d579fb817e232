package host

import (
	"context"
	"maps"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/rule"
)

// rules gives a session the rules of its workspace, unless it has others or wants no files.
func (h *Host) rules(o *Session, settings *config.Config) {
	if o.Guidance.Rules != nil || o.Ground.NoFiles || o.Ground.Files != nil {
		return
	}
	set, warnings := rule.Discover(h.ruleOptions(o.Ground.Dir, settings))
	for _, w := range warnings {
		o.Warn(w)
	}
	o.Guidance = bench.Guidance{
		Rules: set, Interrupt: settings.Text("ttsr.interruptMode"), Keep: settings.Text("ttsr.contextMode") == "keep",
	}
	if settings.Text("ttsr.repeatMode") == "after-gap" {
		o.Guidance.Gap = settings.Int("ttsr.repeatGap")
	}
	urls := map[string]func(context.Context, string) (string, error){"rule": set.Read}
	maps.Copy(urls, o.URLs)
	o.URLs = urls
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

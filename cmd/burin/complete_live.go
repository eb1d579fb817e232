package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript/index"
)

const (
	// maxSessions is how many sessions are offered, the newest; a person who looks for an older
	// one types more of its id, or lets burin resume list them.
	maxSessions = 100
	// maxFiles is how many names of a folder are looked at.
	maxFiles = 5000
)

// described is a word with what it means, as shells that show it want it.
func described(word, about string) string {
	if about = prose.Row(about, 60); about == "" {
		return word
	}
	return word + "\t" + about
}

// offerSessions completes the id of a session, as the first argument. A path is for the shell
// to complete.
func offerSessions(p *program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		switch {
		case strings.ContainsAny(typed, `/\`):
			return nil, cobra.ShellCompDirectiveDefault
		case len(args) == 1 && cmd.Name() == "move":
			return nil, cobra.ShellCompDirectiveFilterDirs
		case len(args) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sessionIDs(cmd.Context(), p, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// sessionIDs are the ids of the folder's sessions, the newest first, or those of all folders
// where none of them fits.
func sessionIDs(ctx context.Context, p *program, typed string) []string {
	a, err := p.archive()
	if err != nil {
		return nil
	}
	dir, err := archive.WorkDir()
	if err != nil {
		return nil
	}
	for _, o := range []index.ListOptions{{CWD: dir}, {}} {
		list, _ := index.List(ctx, a.Root(), o) // none where it cannot be read
		if ids := idsOf(list, typed); len(ids) > 0 {
			return ids
		}
	}
	return nil
}

func idsOf(list []index.Info, typed string) (ids []string) {
	for _, s := range list {
		if strings.HasPrefix(s.ID, typed) && len(ids) < maxSessions && s.ID == prose.Inline(s.ID) {
			ids = append(ids, described(s.ID, words.Stamp(s.Modified)+"  "+prose.Inline(s.Title)))
		}
	}
	return ids
}

// offerTrash completes the id of a session in the trash.
func offerTrash(p *program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		a, err := p.archive()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := a.Trash(cmd.Context())
		return idsOf(list, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// offerSettings completes keys of settings, and the values of those that have some.
func offerSettings(p *program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		c, err := settingsHere(p)
		if err != nil {
			c = nil // its keys are the same
		}
		switch {
		case len(args) == 0:
			return fitting(typed, settingKeys(c, cmd.Name())), cobra.ShellCompDirectiveNoFileComp
		case len(args) == 1 && cmd.Name() == "set":
			return settingValues(p, c, args[0], typed)
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// settingKeys are the keys that a command may be about: to unset a setting, those that a file
// sets. Entries of mappings are keys, too.
func settingKeys(c *config.Config, command string) (keys []string) {
	for _, s := range config.Settings() {
		if s.Own {
			continue
		}
		if command != "unset" || c == nil || c.Source(s.Key).Kind != config.ByDefault {
			keys = append(keys, described(s.Key, s.Label))
		}
		if s.Type == config.Record && c != nil {
			keys = append(keys, entryKeys(c, s)...)
		}
	}
	return keys
}

// entryKeys are the keys of a mapping's entries.
func entryKeys(c *config.Config, s config.Setting) (keys []string) {
	e, _ := c.Lookup(s.Key) // it is a setting
	entries, _ := e.Plain().(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if key := s.Key + "." + name; !strings.ContainsFunc(name, awkward) {
			if _, err := config.Named(key); err == nil {
				keys = append(keys, described(key, s.Label))
			}
		}
	}
	return keys
}

// settingValues are the values that a setting may have. The last entry of a list is completed.
func settingValues(p *program, c *config.Config, key, typed string) ([]string, cobra.ShellCompDirective) {
	s, err := config.Named(key)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	values := s.Choices
	switch {
	case s.Type == config.Bool:
		values = []string{"on", "off"}
	case key == "theme.dark" || key == "theme.light":
		values = themeNames(p)
	case strings.HasPrefix(key, "modelRoles.") || key == "enabledModels":
		values = fromModels(p, modelRefs)
	case key == "disabledProviders" || key == "modelProviderOrder":
		values = fromModels(p, providerNames)
	}
	before := ""
	if s.Type == config.List {
		if i := strings.LastIndexByte(typed, ','); i >= 0 {
			before = typed[:i+1]
		}
	}
	now := ""
	if c != nil {
		if e, err := c.Lookup(key); err == nil {
			now = s.Format(e.Value)
		}
	}
	var out []string
	for _, v := range values {
		about := ""
		if v == now {
			about = "current"
		}
		out = append(out, described(before+v, about))
	}
	return fitting(typed, out), cobra.ShellCompDirectiveNoFileComp
}

// offerPrompt completes a word of a prompt: "/" commands and skills, "@" files. Other words
// are left to the shell.
func offerPrompt(p *program) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if path, ok := strings.CutPrefix(typed, "@"); ok {
			return mentions(path)
		}
		if len(args) == 0 && strings.HasPrefix(typed, "/") && !strings.ContainsAny(typed[1:], `/ `) {
			if found := fitting(typed, promptCommands(p)); len(found) > 0 {
				return found, cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// promptCommands are the commands that a prompt may begin with.
func promptCommands(p *program) (all []string) {
	for _, c := range slash.Commands(slash.Own{}) {
		all = append(all, described("/"+c.Name, c.Help))
	}
	h, err := p.hostFor(nil, func(string) {})
	if err != nil {
		return all
	}
	for _, c := range h.FileCommands().List() {
		all = append(all, described("/"+c.Name, c.Description))
	}
	for _, s := range h.Skills().Callable() {
		all = append(all, described("/skill:"+s.Name, s.Description))
	}
	return all
}

// mentions are the files and folders that "@path" may name. Those whose names a shell would
// take apart are left out.
func mentions(path string) ([]string, cobra.ShellCompDirective) {
	dir, begun := filepath.Split(path)
	f, err := os.Open(filepath.Join(".", filepath.FromSlash(dir)))
	if filepath.IsAbs(dir) {
		f, err = os.Open(dir)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxFiles) // of an error, what was read
	directive := cobra.ShellCompDirectiveNoFileComp
	var found []string
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, begun) || begun == "" && name[0] == '.' || strings.ContainsFunc(name, awkward) {
			continue
		}
		if e.IsDir() {
			name += "/"
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		found = append(found, "@"+dir+name)
	}
	slices.Sort(found)
	return found, directive
}

// awkward reports whether a shell does not take a character as it is, in a word.
func awkward(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'\\$`!*?[]{}()<>|&;#~\t", r)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/external"
	"github.com/burin-dev/burin/internal/mode/tui/theme"
	"github.com/burin-dev/burin/internal/prose"
)

func configCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and change settings",
		Long: `Show and change the settings of config.yml. A change keeps your comments, and is
refused if it would make the file invalid.

  burin config list compaction
  burin config get approval
  burin config set approval auto-edit
  burin config set modelRoles.smol gemini-3-flash-preview
  burin config set permissions.allow 'bash(go test:*), bash(go vet:*)'
  burin config set --project edit.mode patch
  burin config unset approval
  burin config import pi
  burin config edit`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configGet(p), configSet(p), configUnset(p), configList(p), configEdit(p), configPath(p), configSchema(p), configTheme(p), configImport(p), configMigrate(p))
	return cmd
}

// whichFile says which file of settings a command is about.
type whichFile struct{ project bool }

func (w *whichFile) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.project, "project", false, "the project's file, .burin/config.yml, instead of yours")
}

// file is that file, and the folder it is in.
func (w *whichFile) file(h *host.Host) (dir, file string, err error) {
	if !w.project {
		dir = h.Paths().Config
		return dir, config.File(dir), nil
	}
	if file = h.ProjectSettings(); file == "" {
		return "", "", usage("--project: this folder has your own settings, not those of a project")
	}
	return filepath.Dir(file), file, nil
}

func configGet(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "get KEY",
		Short:             "Print the value of a setting",
		Args:              arguments(1, 1),
		ValidArgsFunction: offerSettings(p),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := config.Named(args[0]); err != nil {
				return usageError{Err: err}
			}
			c, err := settingsHere(p)
			if err != nil {
				return err
			}
			e, err := c.Lookup(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return p.writeJSON(jsonSetting(e))
			}
			if text := plainValue(e); text != "" {
				fmt.Fprintln(p.out, text)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object with value, default and source")
	return cmd
}

func configList(p *program) *cobra.Command {
	var asJSON, changed bool
	cmd := &cobra.Command{
		Use:   "list [WORD]",
		Short: "List settings with their values and sources",
		Long: `List all settings, or those whose key contains WORD, with their values and where each
value comes from: the default, a file and its line, a variable or a flag.`,
		Args:              arguments(0, 1),
		ValidArgsFunction: offerSettings(p),
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := settingsHere(p)
			if err != nil {
				return err
			}
			var all []config.Entry
			for _, s := range config.Settings() {
				e, err := c.Lookup(s.Key)
				if err != nil {
					return err
				}
				fits := len(args) == 0 || strings.Contains(strings.ToLower(s.Key), strings.ToLower(args[0]))
				if fits && (!changed || e.Source.Kind != config.ByDefault) {
					all = append(all, e)
				}
			}
			if asJSON {
				out := make([]settingJSON, len(all))
				for i, e := range all {
					if out[i] = jsonSetting(e); e.Setting.Secret && e.Value != nil {
						out[i].Value = "(set)"
					}
				}
				return p.writeJSON(out)
			}
			if len(all) == 0 {
				if len(args) > 0 {
					return usage("no setting contains %q; burin config list shows all", args[0])
				}
				fmt.Fprintln(p.err, "all settings have their defaults")
				return nil
			}
			w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
			for _, e := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Setting.Key, prose.Inline(prose.Short(shortValue(e), 60)), e.Source)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	cmd.Flags().BoolVar(&changed, "changed", false, "leave out settings that have their default")
	return cmd
}

func configSet(p *program) *cobra.Command {
	var where whichFile
	cmd := &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change a setting in config.yml",
		Long: `Change a setting in config.yml. Switches take on or off; the entries of a list are
separated by commas. An entry of a mapping is a key of its own: modelRoles.smol.

With --project the setting goes into .burin/config.yml, which everybody who works on the
project can share. What such a file may set is limited: burin help config.`,
		Args:              arguments(2, 2),
		ValidArgsFunction: offerSettings(p),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := config.Named(args[0])
			if err != nil {
				return usageError{Err: err}
			}
			value, err := s.Read(args[1])
			if err != nil {
				return usage("%s: %w", args[0], err)
			}
			if where.project && s.Project == config.Never {
				return usage("%s is not for projects: leave out --project", args[0])
			}
			return changeSetting(p, where, args[0], func(dir string) error { return config.Set(dir, args[0], value) })
		},
	}
	where.register(cmd)
	return cmd
}

func configUnset(p *program) *cobra.Command {
	var where whichFile
	cmd := &cobra.Command{
		Use:               "unset KEY",
		Short:             "Remove a setting from config.yml, so that its default applies",
		Args:              arguments(1, 1),
		ValidArgsFunction: offerSettings(p),
		RunE: func(_ *cobra.Command, args []string) error {
			if _, err := config.Named(args[0]); err != nil {
				return usageError{Err: err}
			}
			return changeSetting(p, where, args[0], func(dir string) error { return config.Unset(dir, args[0]) })
		},
	}
	where.register(cmd)
	return cmd
}

// changeSetting changes a settings file, and says so where that has no effect.
func changeSetting(p *program, where whichFile, key string, change func(dir string) error) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	dir, file, err := where.file(h)
	if err != nil {
		return err
	}
	if where.project {
		err = config.Within(file)
	}
	if err == nil {
		err = change(dir)
	}
	if err != nil {
		return err
	}
	c, err := h.Settings() // which warns of what a project's file may not set
	if err != nil {
		return err
	}
	e, err := c.Lookup(key)
	if err != nil {
		return err
	}
	if from := e.Source; from.Until() != "" && from.File != file {
		fmt.Fprintf(p.err, "saved, but %s overrides it %s: %s is %s\n", from, from.Until(), key, prose.Inline(shortValue(e)))
	}
	return nil
}

func configEdit(p *program) *cobra.Command {
	var where whichFile
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Open config.yml in your editor",
		Long: `Open config.yml in the editor of VISUAL or EDITOR, and check it when the editor has
ended. A file with a mistake is kept as you wrote it.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			dir, file, err := where.file(h)
			if err != nil {
				return err
			}
			if where.project {
				if err := config.Within(file); err != nil {
					return err
				}
			}
			return editSettings(cmd.Context(), p, dir, file)
		},
	}
	where.register(cmd)
	return cmd
}

// editSettings opens a settings file in the editor and checks what it has become.
func editSettings(ctx context.Context, p *program, dir, file string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("edit the settings: %w", err)
	}
	if err := external.Open(ctx, external.Options{Getenv: p.getenv, Stdin: p.in}, file); err != nil {
		return err
	}
	if _, err := config.Load(dir); err != nil {
		return fmt.Errorf("%w; burin config edit opens the file again", err)
	}
	return nil
}

func configPath(p *program) *cobra.Command {
	var where whichFile
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print where config.yml is",
		Args:  arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			h, err := p.host(nil)
			if err != nil {
				return err
			}
			_, file, err := where.file(h)
			if err != nil {
				return err
			}
			fmt.Fprintln(p.out, file)
			return nil
		},
	}
	where.register(cmd)
	return cmd
}

func configSchema(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of config.yml",
		Long: `Print the JSON schema of config.yml. Editors that know YAML schemas complete and check
settings with it:

  burin config schema > ~/.burin/config.schema.json

and "# yaml-language-server: $schema=config.schema.json" as the first line of config.yml.`,
		Args: arguments(0, 0),
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = p.out.Write(text)
			return err
		},
	}
}

func configTheme(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "theme [NAME]",
		Short: "Print a theme as a file, or check yours",
		Long: `Print a theme, built-in or yours, as the file of a theme. Your own begins with one:

  burin config theme dusk > ~/.burin/themes/mine.json

The terminal shows what you change in it as soon as you save. What is wrong with a file
is named with its line. Without a name, list the themes.`,
		Args:              arguments(0, 1),
		ValidArgsFunction: offerThemes(p),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := themeFolder(p)
			if err != nil {
				return err
			}
			if len(args) == 0 {
				for _, name := range themeNames(p) {
					fmt.Fprintln(p.out, prose.Inline(name))
				}
				return nil
			}
			t, ok := theme.Builtin(args[0])
			if !ok {
				if t, err = theme.Load(dir, args[0]); err != nil {
					return err
				}
				for _, d := range t.Doubts {
					p.warn(d)
				}
			}
			_, err = p.out.Write(t.File())
			return err
		},
	}
}

// held are the settings that flags set.
func (a *askFlags) held() []config.Flag {
	if a == nil {
		return nil
	}
	var out []config.Flag
	add := func(given bool, key, name string, value any) {
		if given {
			out = append(out, config.Flag{Key: key, Name: "--" + name, Value: value})
		}
	}
	add(a.approval != "", "approval", "approval", a.approval)
	add(a.thinking != "", "defaultThinkingLevel", "thinking", a.thinking)
	add(a.serviceTier != "", "serviceTier", "service-tier", a.serviceTier)
	add(a.webSearch != "", "providers.webSearch", "web-search", a.webSearch)
	add(a.sandbox != "", "sandbox.mode", "sandbox", a.sandbox)
	add(a.editEngine != "", "edit.mode", "edit-engine", a.editEngine)
	add(len(a.allow) > 0, "permissions.allow", "allow", a.allow)
	add(len(a.deny) > 0, "permissions.deny", "deny", a.deny)
	add(len(a.hosts) > 0, "sandbox.hosts", "allow-host", a.hosts)
	add(a.noSecrets, "secrets.enabled", "no-secrets", false)
	add(a.seal, "sessions.encrypt", "seal", true)
	if a.given != nil {
		add(a.given("temperature"), "temperature", "temperature", a.temperature)
		add(a.given("top-p"), "topP", "top-p", a.topP)
	}
	return out
}

// overlayFiles are the files of --config. Their names are relative to where burin began.
func overlayFiles(p *program) ([]string, error) {
	home, _ := os.UserHomeDir() // only "~" needs it
	for i, name := range p.overlays {
		path, err := config.OverlayPath(name, home)
		if err != nil {
			return nil, usage("--config: %w", err)
		}
		p.overlays[i] = path
	}
	return p.overlays, nil
}

// settingsHere are those that apply in this folder.
func settingsHere(p *program) (*config.Config, error) {
	h, err := p.host(nil)
	if err != nil {
		return nil, err
	}
	return h.Settings()
}

// settingJSON is a setting for programs.
type settingJSON struct {
	Key     string     `json:"key"`
	Value   any        `json:"value"`
	Default any        `json:"default"`
	Source  sourceJSON `json:"source"`
}

type sourceJSON struct {
	Kind string `json:"kind"` // default, user, project, overlay, environment or flag
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Name string `json:"name,omitempty"` // of the variable or the flag
}

func jsonSetting(e config.Entry) settingJSON {
	from := e.Source
	return settingJSON{Key: e.Key, Value: e.Plain(), Default: e.Setting.Default, Source: sourceJSON{Kind: from.Kind.String(), File: from.File, Line: from.Line, Name: from.Name}}
}

// plainValue is a value as burin config set takes it, or as JSON; "" if there is none.
func plainValue(e config.Entry) string {
	if e.Setting.Type != config.Record || e.Value == nil {
		return e.Text()
	}
	b, err := json.MarshalIndent(e.Plain(), "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

// shortValue is a value for people, on one line; what applies without one is in brackets.
func shortValue(e config.Entry) string {
	if e.Value == nil {
		return "(" + e.Setting.Else + ")"
	}
	if e.Setting.Secret {
		return "(set)"
	}
	if list, ok := e.Value.([]string); ok && len(list) == 0 {
		return "(none)"
	}
	return e.Text()
}

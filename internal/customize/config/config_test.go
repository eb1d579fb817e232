package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/model/catalog"
)

func TestFindPaths(t *testing.T) {
	home := t.TempDir()
	dot := filepath.Join(home, ".burin")
	tests := []struct {
		name   string
		env    map[string]string
		exists bool
		want   config.Paths
	}{
		{"plain", nil, false, config.Paths{Config: dot, Data: dot, Cache: dot + "/cache", State: dot}},
		{"override", map[string]string{"BURIN_HOME": "/x", "XDG_CONFIG_HOME": "/c"}, true, config.Paths{Config: "/x", Data: "/x", Cache: "/x/cache", State: "/x"}},
		{
			"xdg",
			map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d", "XDG_CACHE_HOME": "/k", "XDG_STATE_HOME": "relative"},
			false,
			config.Paths{Config: "/c/burin", Data: "/d/burin", Cache: "/k/burin", State: dot},
		},
		{"xdg data alone", map[string]string{"XDG_DATA_HOME": "/d"}, false, config.Paths{Config: dot, Data: "/d/burin", Cache: "/d/burin/cache", State: dot}},
		{"an existing folder wins over xdg", map[string]string{"XDG_DATA_HOME": "/d"}, true, config.Paths{Config: dot, Data: dot, Cache: dot + "/cache", State: dot}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			os.Remove(dot)
			if tt.exists {
				if err := os.Mkdir(dot, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			got, err := config.FindPaths(func(k string) string {
				if k == "HOME" {
					return home
				}
				return tt.env[k]
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func load(t *testing.T, text string) (*config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.yml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Load(dir)
}

func TestLoad(t *testing.T) {
	c, err := load(t, `
modelRoles:
  default: anthropic/claude-sonnet-4-6:high
enabledModels:
  - openai/*
  - path: ~/work
    models: [anthropic/*, "google/*"]
disabledProviders: [groq]
defaultThinkingLevel: low
stream: {idleTimeoutMs: -1}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := &config.Config{
		ModelRoles:           map[string]string{"default": "anthropic/claude-sonnet-4-6:high"},
		EnabledModels:        catalog.ScopedList{{Values: []string{"openai/*"}}, {Paths: []string{"~/work"}, Values: []string{"anthropic/*", "google/*"}}},
		DisabledProviders:    catalog.ScopedList{{Values: []string{"groq"}}},
		DefaultThinkingLevel: "low",
	}
	want.Stream.IdleTimeoutMS = -1
	if diff := cmp.Diff(want, c, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Error(diff)
	}
	if _, err := config.Load(t.TempDir()); err != nil {
		t.Errorf("without a file: %v", err)
	}
	if _, err := load(t, " \n"); err != nil {
		t.Errorf("empty file: %v", err)
	}
}

func TestLoadErrors(t *testing.T) {
	for in, want := range map[string]string{
		"modelRole: {}\n":  `config.yml:1:1: unknown setting "modelRole" (did you mean "modelRoles"?)`,
		"a: [\n":           "config.yml:",
		"modelRoles: []\n": "config.yml:1:13: ",
		// The parser takes the colon of an address in braces for that of a key.
		"server: {storageOrigins: [http://127.0.0.1:1234]}": "config.yml:1:43: this must be text, and its colon makes it a mapping: put it in quotes",
		"server:\n  folders:\n    - a: b\n":                 "config.yml:3:8: this must be text",
		"defaultThinkingLevel: huge\n":                      `config.yml:1:23: unknown thinking level "huge" (want off, minimal, low, medium, high or xhigh)`,
		"enabledModels:\n- path: x\n":                       "config.yml:",
		"\nstream:\n  idleTimeoutMs: soon\n":                "config.yml:3:18: ",
		"stream: {idleTimeoutMs: 1, more: 2}":               `unknown setting "stream.more"`,
		"oauth: {acme: {authUrl: nonsense}}":                "config.yml:1:",
		"# c\r\n# d\r\napproval: yes\r\n":                   "config.yml:3:11: ",
		"theme: [a]\n":                                      "config.yml:1:",
		"theme: {drak: a}\n":                                `unknown setting "theme.drak" (did you mean "theme.dark"?)`,
		"symbolPreset: emoji\n":                             `config.yml:1:15: "emoji" must be unicode, nerd or ascii`,
		"display:\n  tabWidth: 0\n":                         "config.yml:2:13: 0 is less than 1",
		"autocompleteMaxVisible: 50":                        "config.yml:1:25: 50 is more than 20",
		"limits: {turn: -0.5}":                              "config.yml:1:16: -0.5 is less than 0",
		"retry: {maxRetries: -1}":                           "config.yml:1:21: -1 is less than 0",
		"sandbox: {mode: none}":                             `config.yml:1:17: "none" must be read-only, workspace-write or full`,
		"completion: {notify: loud}":                        `"loud" must be desktop, bell, both or off`,
		"statusLine:\n  leftSegments: [mood]":               `config.yml:2:17: "mood" must be burin, model`,
	} {
		_, err := load(t, in)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want one line with %q", in, err, want)
		}
	}
}

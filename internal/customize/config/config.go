// Package config finds burin's files and reads the settings of config.yml.
//
// Reading is strict: an unknown key, a wrong type or a value out of range is an
// error of one line that names the file, the line and the column, and what is
// expected there. A missing file is an empty one.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/llm"
)

// Config is what config.yml may say.
type Config struct {
	// ModelRoles maps a role (default, smol, slow, vision, plan, designer,
	// commit, task, or any other) to a model selector.
	ModelRoles map[string]string `yaml:"modelRoles"`
	// EnabledModels limits selection to models that match; empty = all.
	EnabledModels []Scoped `yaml:"enabledModels"`
	// DisabledProviders are never used.
	DisabledProviders []Scoped `yaml:"disabledProviders"`
	// ModelProviderOrder says whose variant of a model is preferred.
	ModelProviderOrder []string `yaml:"modelProviderOrder"`
	// DefaultThinkingLevel is used where neither flag nor selector says one.
	DefaultThinkingLevel llm.Level `yaml:"defaultThinkingLevel"`
	// Stream sets the time-outs of answers, in milliseconds; 0 = the default,
	// negative = no limit.
	Stream struct {
		FirstEventTimeoutMS int `yaml:"firstEventTimeoutMs"`
		IdleTimeoutMS       int `yaml:"idleTimeoutMs"`
	} `yaml:"stream"`
	// OAuth adds logins, by provider id. It is read by the credential room.
	OAuth map[string]map[string]any `yaml:"oauth"`
}

// Scoped is a value that may apply in some folders only: either a plain string,
// or a mapping of one of path, paths, pathPrefix, pathPrefixes to folders and
// one of models, providers, values to a list.
type Scoped struct {
	Paths  []string // empty = everywhere; "~" stands for the home directory
	Values []string
}

// UnmarshalYAML reads either form.
func (s *Scoped) UnmarshalYAML(unmarshal func(any) error) error {
	var plain string
	if err := unmarshal(&plain); err == nil {
		*s = Scoped{Values: []string{plain}}
		return nil
	}
	var m struct {
		Path         string   `yaml:"path"`
		Paths        []string `yaml:"paths"`
		PathPrefix   string   `yaml:"pathPrefix"`
		PathPrefixes []string `yaml:"pathPrefixes"`
		Models       []string `yaml:"models"`
		Providers    []string `yaml:"providers"`
		Values       []string `yaml:"values"`
	}
	if err := unmarshal(&m); err != nil {
		return err
	}
	paths := slices.Concat(m.Paths, m.PathPrefixes)
	for _, p := range []string{m.Path, m.PathPrefix} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	values := slices.Concat(m.Models, m.Providers, m.Values)
	if len(paths) == 0 || len(values) == 0 {
		return errors.New("a scoped entry needs path (or paths, pathPrefix, pathPrefixes) and models, providers or values")
	}
	*s = Scoped{Paths: paths, Values: values}
	return nil
}

// Load reads config.yml in dir.
func Load(dir string) (*Config, error) {
	path := filepath.Join(dir, "config.yml")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Config{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	c := new(Config)
	if len(bytes.TrimSpace(data)) == 0 {
		return c, nil
	}
	if err := yaml.UnmarshalWithOptions(data, c, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s:%s", path, OneLine(err))
	}
	if c.DefaultThinkingLevel != "" {
		if _, err := llm.ParseLevel(string(c.DefaultThinkingLevel)); err != nil {
			return nil, fmt.Errorf("%s: defaultThinkingLevel: %w", path, err)
		}
	}
	return c, nil
}

var position = regexp.MustCompile(`^\[(\d+):(\d+)\] `)

// OneLine makes the YAML library's error, which quotes the source over several
// lines, one of the form "line:column: what".
func OneLine(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return position.ReplaceAllString(first, "$1:$2: ")
}

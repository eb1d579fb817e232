package config

import "errors"

// Theme names the themes of dark and of light terminals.
type Theme struct {
	Dark  string `yaml:"dark"`
	Light string `yaml:"light"`
}

// UnmarshalYAML also takes the form "theme: name" of older files, which is used on
// all terminals. Those programs gave the theme to dark or light terminals by its
// looks; a name that somebody wrote down is obeyed here.
func (t *Theme) UnmarshalYAML(unmarshal func(any) error) error {
	var flat string
	if unmarshal(&flat) == nil {
		if flat == "" {
			return errors.New("theme is empty: name a theme, or set theme.dark and theme.light")
		}
		*t = Theme{Dark: flat, Light: flat}
		return nil
	}
	type plain Theme
	return unmarshal((*plain)(t))
}

// Notify is how something is brought to notice: desktop, bell, both, off.
type Notify string

// UnmarshalYAML also takes the word "on" of older files.
func (n *Notify) UnmarshalYAML(unmarshal func(any) error) error {
	var word string
	if err := unmarshal(&word); err != nil {
		return err
	}
	if word == "on" {
		word = "desktop"
	}
	*n = Notify(word)
	return nil
}

// StatusLine is what the line below the prompt shows. Segments have no options of
// their own, as some of the family have: what they show is little enough.
type StatusLine struct {
	Preset        string   `yaml:"preset"`
	Separator     string   `yaml:"separator"`
	LeftSegments  []string `yaml:"leftSegments"` // of the preset custom
	RightSegments []string `yaml:"rightSegments"`
	Transparent   bool     `yaml:"transparent"`
	Command       string   `yaml:"command"` // its output is the segment command
}

package config

import "reflect"

// Changed are the keys of the settings that have another value in b than in a, in the order of
// [Settings], without what the program writes down for itself.
func Changed(a, b *Config) []string {
	if a == b {
		return nil
	}
	var keys []string
	for i := range table {
		if s := &table[i]; !s.Own && !reflect.DeepEqual(a.Value(s.Key), b.Value(s.Key)) {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// Files are the files that the settings were read from, the user's first, there or not.
func (c *Config) Files() []string {
	files := make([]string, len(c.parts))
	for i, p := range c.parts {
		files[i] = p.path
	}
	return files
}

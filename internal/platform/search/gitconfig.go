package search

import (
	"path/filepath"
	"runtime"
	"strings"
)

// gitDirs are the directories in which git keeps what it knows of a work tree.
type gitDirs struct {
	top    string // the work tree
	common string // with config and info, shared by the work trees of a repository
}

// findGitDirs finds the directories of the work tree top. Its .git is one of
// them, or a file that names one.
func findGitDirs(top string) gitDirs {
	dir := filepath.Join(top, ".git")
	if data, err := readSmall(dir); err == nil {
		to, ok := strings.CutPrefix(string(data), "gitdir:")
		if !ok {
			return gitDirs{top: top, common: dir}
		}
		dir = within(top, strings.TrimSpace(to))
	}
	if data, err := readSmall(filepath.Join(dir, "commondir")); err == nil {
		dir = within(dir, strings.TrimSpace(string(data)))
	}
	return gitDirs{top: top, common: dir}
}

func within(dir, name string) string {
	name = filepath.FromSlash(name)
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// readUserRules reads core.excludesFile and core.ignoreCase from the files git
// takes them from, the last that names them counting. Files that these include
// are not read.
func readUserRules(git gitDirs, environ func(string) string) *userRules {
	home := environ("HOME")
	if home == "" && runtime.GOOS == "windows" {
		home = environ("USERPROFILE")
	}
	xdg := environ("XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	var files []string
	if runtime.GOOS != "windows" && environ("GIT_CONFIG_NOSYSTEM") == "" {
		files = append(files, "/etc/gitconfig")
	}
	if global := environ("GIT_CONFIG_GLOBAL"); global != "" {
		files = append(files, global)
	} else {
		if xdg != "" {
			files = append(files, filepath.Join(xdg, "git", "config"))
		}
		if home != "" {
			files = append(files, filepath.Join(home, ".gitconfig"))
		}
	}
	if git.common != "" {
		files = append(files, filepath.Join(git.common, "config"))
	}
	u := &userRules{}
	excludes := ""
	if xdg != "" {
		excludes = filepath.Join(xdg, "git", "ignore")
	}
	for _, f := range files {
		data, err := readSmall(f)
		if err != nil {
			continue
		}
		for key, value := range coreSettings(string(data)) {
			switch key {
			case "excludesfile":
				excludes = expandHome(value, home)
			case "ignorecase":
				u.fold = isTrue(value)
			}
		}
	}
	if excludes != "" {
		u.global = readFile(within(git.top, excludes), u.fold)
	}
	return u
}

func expandHome(name, home string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return name
}

func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// coreSettings gives the settings of the [core] sections of a git configuration,
// with keys in lower case, in order.
func coreSettings(config string) func(yield func(key, value string) bool) {
	return func(yield func(key, value string) bool) {
		core := false
		config = strings.ReplaceAll(strings.TrimPrefix(config, "\ufeff"), "\r\n", "\n")
		for config != "" {
			var line string
			line, config = logicalLine(config)
			line = strings.TrimSpace(line)
			if rest, ok := strings.CutPrefix(line, "["); ok {
				section, behind, _ := strings.Cut(rest, "]")
				core = strings.EqualFold(strings.TrimSpace(section), "core")
				line = strings.TrimSpace(behind)
			}
			if !core || line == "" || line[0] == '#' || line[0] == ';' {
				continue
			}
			key, value, set := strings.Cut(line, "=")
			if !set {
				value = "true"
			}
			if !yield(strings.ToLower(strings.TrimSpace(key)), configValue(strings.TrimSpace(value))) {
				return
			}
		}
	}
}

// logicalLine cuts off a line, with those that a backslash at its end joins to it.
func logicalLine(s string) (line, rest string) {
	for {
		part, behind, _ := strings.Cut(s, "\n")
		joined := strings.HasSuffix(part, `\`) && !strings.HasSuffix(part, `\\`)
		if !joined {
			return line + part, behind
		}
		line += strings.TrimSuffix(part, `\`)
		s = behind
	}
}

// configValue takes quotes, escapes and a comment out of a value.
func configValue(s string) string {
	var b strings.Builder
	quoted, kept := false, 0 // kept: how much of b is sure not to be space before a comment
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case c == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteByte(s[i])
			}
		case (c == '#' || c == ';') && !quoted:
			return b.String()[:kept]
		default:
			b.WriteByte(c)
			if c == ' ' || c == '\t' {
				if quoted {
					kept = b.Len()
				}
				continue
			}
		}
		kept = b.Len()
	}
	return b.String()[:kept]
}

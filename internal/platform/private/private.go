// Package private knows where keys, passwords and histories lie: below the home
// folder, by what variables say, in the system's own places, and by the names of
// files anywhere.
//
// It is the one list of the program. Rules ask about what it names ([Places.Holds],
// [Named]), and the sandbox hides what exists of it from commands
// ([Places.Hidden]). A few places are needed by builds: rules ask about them, but
// they aren't hidden (see buildPlaces).
package private

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Places are the secret places of a user on this machine. They are safe for
// concurrent use.
type Places struct{ list func() *list }

// list is the places worked out, which is done when they are first asked for.
type list struct {
	home   string
	hidden []string        // absolute, with slashes; patterns among them
	exact  map[string]bool // all that are no patterns, in lower case
	globs  []string        // the patterns, in lower case
}

// Find lists the places of the user with that home folder, which may be empty.
// getenv gives the variables that move places elsewhere; it must be safe for
// concurrent use.
func Find(home string, getenv func(name string) string) *Places {
	return &Places{sync.OnceValue(func() *list { return newList(filepath.ToSlash(home), getenv) })}
}

func newList(home string, getenv func(string) string) *list {
	p := &list{home: home, exact: map[string]bool{}}
	p.ofHome(p.home, getenv)
	if p.home != "/root" {
		p.ofHome("/root", func(string) string { return "" })
	}
	for name := range strings.FieldsSeq(systemPlaces) {
		p.add(name, true)
	}
	for line := range strings.Lines(variablePlaces) {
		p.ofVariable(strings.Fields(line), getenv)
	}
	return p
}

func (p *list) ofHome(home string, getenv func(string) string) {
	if home == "" {
		return
	}
	for i, list := range []string{homePlaces, buildPlaces} {
		hide := i == 0
		for name := range strings.SplitSeq(list, "\n") {
			if name == "" {
				continue
			}
			p.add(path.Join(home, name), hide)
			for _, x := range [][2]string{
				{".config/", "XDG_CONFIG_HOME"}, {".local/share/", "XDG_DATA_HOME"}, {".local/state/", "XDG_STATE_HOME"}, {".cache/", "XDG_CACHE_HOME"},
			} {
				if rest, ok := strings.CutPrefix(name, x[0]); ok && filepath.IsAbs(getenv(x[1])) {
					p.add(path.Join(filepath.ToSlash(getenv(x[1])), rest), hide)
				}
			}
		}
	}
}

// ofVariable adds what a line of variablePlaces stands for.
func (p *list) ofVariable(fields []string, getenv func(string) string) {
	if len(fields) == 0 || getenv(fields[0]) == "" {
		return
	}
	values, parts := []string{getenv(fields[0])}, fields[1:]
	if slices.Equal(parts, []string{"*"}) {
		values, parts = filepath.SplitList(values[0]), nil
	}
	if len(parts) == 0 {
		parts = []string{"."}
	}
	for _, value := range values {
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = path.Join(p.home, rest)
		}
		if !filepath.IsAbs(value) {
			continue // it depends on where a program runs
		}
		for _, part := range parts {
			inner := strings.Trim(part, "()")
			name := path.Join(filepath.ToSlash(value), inner)
			if strings.HasPrefix(name, "/dev/") || p.home != "" && isBelow(p.home, name) {
				continue // /dev/null as a history; a folder that holds everything of the user's
			}
			p.add(name, inner == part)
		}
	}
}

func (p *list) add(name string, hide bool) {
	if hide {
		p.hidden = append(p.hidden, name)
	}
	lower := strings.ToLower(name)
	if strings.Contains(lower, "*") {
		p.globs = append(p.globs, lower)
	} else {
		p.exact[lower] = true
	}
}

// isBelow reports whether a name is dir or lies below it.
func isBelow(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// Holds reports whether an absolute name is one of the places, or lies in one.
// Capitals don't count.
func (p *Places) Holds(name string) bool {
	if p == nil {
		return false
	}
	l, lower := p.list(), strings.ToLower(filepath.ToSlash(name))
	for at := lower; len(at) > 1; at = at[:max(0, strings.LastIndexByte(at, '/'))] {
		if l.exact[at] {
			return true
		}
	}
	return slices.ContainsFunc(l.globs, func(glob string) bool {
		begin, _, _ := strings.Cut(glob, "*")
		for at := lower; strings.HasPrefix(at, begin); at = at[:strings.LastIndexByte(at, '/')] {
			if ok, _ := path.Match(glob, at); ok {
				return true
			}
		}
		return false
	})
}

// Below reports whether there are places in a folder or below it.
func (p *Places) Below(dir string) bool {
	if p == nil {
		return false
	}
	l := p.list()
	dir = strings.ToLower(filepath.ToSlash(dir))
	for name := range l.exact {
		if isBelow(name, dir) {
			return true
		}
	}
	return slices.ContainsFunc(l.globs, func(glob string) bool { return isBelow(glob, dir) })
}

// Hidden are the places that exist now and that commands must not read: absolute
// paths, sorted. Among them are files in the home folder itself whose names say that
// they are secret.
func (p *Places) Hidden() []string {
	l := p.list()
	var out []string
	add := func(name string) {
		if _, err := os.Stat(name); err == nil {
			out = append(out, name)
		}
	}
	for _, name := range l.hidden {
		name = filepath.FromSlash(name)
		if !strings.Contains(name, "*") {
			add(name)
			continue
		}
		found, _ := filepath.Glob(name)
		for _, f := range found {
			add(f)
		}
	}
	if l.home != "" {
		entries, _ := os.ReadDir(l.home)
		for _, e := range entries {
			if Named(e.Name()) {
				add(filepath.Join(filepath.FromSlash(l.home), e.Name()))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Named reports whether a file usually holds keys or passwords, by its name, wherever
// it lies.
func Named(name string) bool {
	b := strings.ToLower(path.Base(filepath.ToSlash(name)))
	switch b {
	case ".netrc", "_netrc", ".pgpass", ".my.cnf", ".mylogin.cnf", ".git-credentials", ".htpasswd", ".vault-token", ".dockercfg", ".dockerconfigjson",
		"credentials.json", ".credentials.json", "credentials.tfrc.json", "oauth_creds.json", "application_default_credentials.json",
		"service-account.json", "service_account.json", "shadow", "gshadow", "shadow-", "gshadow-", ".npmrc", ".pypirc", ".envrc", ".s3cfg", ".boto",
		".bash_history", ".zsh_history", ".psql_history", ".mysql_history", ".python_history", ".node_repl_history":
		return true
	}
	switch path.Ext(b) {
	case ".pem", ".key", ".p8", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".asc", ".ppk", ".agekey", ".keychain", ".keychain-db", ".ovpn":
		return true
	case ".env":
		return !harmless(strings.TrimSuffix(b, ".env"))
	}
	if rest, ok := strings.CutPrefix(b, ".env"); ok && (rest == "" || rest[0] == '.' || rest[0] == '-') {
		return !harmless(rest)
	}
	for _, begin := range []string{".vault_pass", ".vault-pass", "vault_pass", "vault-pass", ".ansible_vault_pass", "client_secret"} {
		if strings.HasPrefix(b, begin) {
			return true
		}
	}
	for _, end := range []string{"_rsa", "_ed25519", "_ecdsa", "_dsa"} {
		if strings.HasSuffix(b, end) {
			return true
		}
	}
	return strings.HasPrefix(b, "ssh_host_") && strings.HasSuffix(b, "_key") ||
		strings.HasPrefix(b, "id_") && !strings.HasSuffix(b, ".pub") && !strings.Contains(b, ".")
}

// harmless reports whether the rest of the name of a file of variables says that it
// holds examples.
func harmless(rest string) bool {
	for _, word := range []string{"example", "sample", "template", "dist", "defaults"} {
		if strings.HasSuffix(rest, word) || strings.HasPrefix(rest, word) {
			return true
		}
	}
	return false
}

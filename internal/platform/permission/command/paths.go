package command

import (
	"path"
	"path/filepath"
	"strings"
)

// Secret reports whether a file usually holds keys or passwords, by its name.
func Secret(name string) bool {
	b := strings.ToLower(path.Base(filepath.ToSlash(name)))
	switch b {
	case ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token", ".dockercfg", "credentials.json", "service-account.json", "shadow", ".npmrc", ".pypirc", ".envrc":
		return true
	}
	switch path.Ext(b) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx", ".keystore", ".jks", ".asc", ".ppk":
		return true
	}
	if rest, ok := strings.CutPrefix(b, ".env"); ok && (rest == "" || rest[0] == '.' || rest[0] == '-') {
		for _, harmless := range []string{"example", "sample", "template", "dist", "defaults"} {
			if strings.HasSuffix(rest, harmless) {
				return false
			}
		}
		return true
	}
	return strings.HasPrefix(b, "id_") && !strings.HasSuffix(b, ".pub") && !strings.Contains(b, ".") ||
		strings.HasSuffix(b, "_rsa") || strings.HasSuffix(b, "_ed25519")
}

const (
	keysAndLogins = "changes files that hold keys and logins"
	systemFiles   = "changes the system's own files"
)

// Sensitive says in words what a change of a file means that more depends on than
// the project; empty if it is a file like others.
func (p Place) Sensitive(f Path) string {
	if why := p.sensitive(f.Name); why != "" || f.Real == "" {
		return why
	}
	return p.sensitive(f.Real)
}

func (p Place) sensitive(name string) string {
	name = filepath.ToSlash(name)
	lower := strings.ToLower(name)
	for part := range strings.SplitSeq(lower, "/") {
		switch part {
		case ".git":
			return "changes git's own files, which can make git run programs"
		case ".ssh", ".gnupg":
			return keysAndLogins
		case ".aws", ".kube", ".azure", ".gcloud", ".docker":
			if isAbs(name) {
				return keysAndLogins
			}
		}
	}
	switch {
	case !isAbs(name) && p.Root == "/":
		name = "/" + name
	case !isAbs(name): // the workspace may be the home folder, or hold it
		if _, ok := within(p.Root, filepath.ToSlash(p.Home)); !ok {
			return ""
		}
		name = path.Join(filepath.ToSlash(p.Root), name)
	case p.inExtra(name):
		return ""
	}
	if home, ok := within(p.Home, name); ok {
		return homeFile(strings.ToLower(home))
	}
	return foreignFile(strings.ToLower(name))
}

// foreignFile judges an absolute path outside of one's own home folder, in lower
// case.
func foreignFile(name string) string {
	if len(name) > 2 && name[1] == ':' && strings.HasPrefix(name[2:], "/windows") {
		return systemFiles
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	switch first {
	case "root":
		return homeFile(rest)
	case "home", "users":
		_, rest, _ = strings.Cut(rest, "/")
		return homeFile(rest)
	case "etc", "usr", "bin", "sbin", "lib", "lib64", "boot", "sys", "proc", "system", "library", "opt":
		return systemFiles
	case "var", "private":
		if !temporary(name) {
			return systemFiles
		}
	case "dev":
		switch {
		case strings.HasPrefix(rest, "tcp/"), strings.HasPrefix(rest, "udp/"):
			return "opens a connection to another machine"
		case !isDevice(name) && !strings.HasPrefix(rest, "shm/") && !strings.HasPrefix(rest, "pts/"):
			return "writes to a device"
		}
	}
	return ""
}

// Guarded reports whether a file usually holds keys or passwords, by its name or
// by the folder it is in.
func (p Place) Guarded(f Path) bool {
	return f.Name != "" && (f.Secret() || p.Sensitive(f) == keysAndLogins)
}

// homeFile judges a path below someone's home folder, in lower case.
func homeFile(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	switch first {
	case ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".xprofile", ".xinitrc", ".xsession", ".pam_environment", ".envrc":
		return "changes what every new shell runs"
	case ".gitconfig", ".npmrc", ".netrc", ".pypirc", ".vimrc", ".emacs", ".tmux.conf", ".gdbinit", ".curlrc", ".wgetrc", ".burin", ".claude", ".codex", ".cursor":
		return "changes how programs work everywhere"
	case ".config":
		return "changes how programs work everywhere"
	case "library":
		if strings.HasPrefix(rest, "launch") {
			return "changes what starts by itself"
		}
	case ".local":
		if strings.HasPrefix(rest, "bin/") {
			return "puts a program where every command finds it"
		}
	}
	return ""
}

// opening says what is dangerous about a file that a redirection opens.
func opening(kind Kind, p Path, at Place) string {
	if kind == Write {
		if isDevice(p.Text) {
			return ""
		}
		return at.Sensitive(p)
	}
	if strings.HasPrefix(p.Name, "/dev/tcp/") || strings.HasPrefix(p.Name, "/dev/udp/") {
		return "opens a connection to another machine"
	}
	return ""
}

// temporary reports whether a path is below a folder for files that do not last.
func temporary(name string) bool {
	for _, t := range []string{"/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/", "/dev/shm/"} {
		if strings.HasPrefix(name, t) && len(name) > len(t) {
			return true
		}
	}
	return false
}

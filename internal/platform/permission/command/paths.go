package command

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/private"
)

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
		_, holdsHome := within(p.Root, filepath.ToSlash(p.Home))
		name = path.Join(filepath.ToSlash(p.Root), name)
		if !holdsHome {
			if p.Private.Holds(name) {
				return keysAndLogins
			}
			return ""
		}
	case p.inExtra(name) && !p.Private.Holds(name):
		return ""
	}
	if p.Private.Holds(name) {
		return keysAndLogins
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
	if f.Name == "" && (private.Named(f.Text) || slices.ContainsFunc(f.May, p.Guarded)) {
		return true
	}
	return f.Name != "" && (f.named() || p.keeps(f.Name) || f.Real != "" && p.keeps(f.Real))
}

// Guards is Guarded for many names that are no links. Where no secret place lies in the
// workspace, most names are judged by themselves.
func (p Place) Guards() func(name string) bool {
	elsewhere := p.Root != "" && !p.Private.Below(p.Root) && !p.Private.Holds(p.Root)
	return func(name string) bool {
		if elsewhere && !isAbs(name) && !strings.HasPrefix(name, ".") && !strings.Contains(name, "/.") {
			return private.Named(name)
		}
		return p.Guarded(Path{Name: name, Where: Inside})
	}
}

// keeps reports whether a name is, or lies in, a place of keys and passwords.
func (p Place) keeps(name string) bool { return p.sensitive(name) == keysAndLogins }

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

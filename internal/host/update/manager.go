package update

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/installed"
)

// manager is a program that installs programs, and would undo or miss what burin does to
// its files.
type manager struct {
	name   string
	update string // the command that updates burin
}

// folders are managers whose programs lie in a folder of theirs.
var folders = []struct{ part, name, update string }{
	{"/nix/store/", "Nix", "nix profile upgrade burin, or update the configuration that names it"},
	{"/Caskroom/burin/", "Homebrew", "brew upgrade --cask burin"},
	{"/Cellar/burin/", "Homebrew", "brew upgrade burin"},
	{"/scoop/apps/burin/", "Scoop", "scoop update burin"},
}

// databases are managers that are asked who owns a file.
var databases = []struct {
	folder, name, update string
	query                []string
}{
	{"/var/lib/dpkg", "dpkg", "sudo apt install ./FILE.deb, with FILE.deb from " + Page, []string{"dpkg-query", "--search"}},
	{"/var/lib/rpm", "rpm", "sudo rpm --upgrade FILE.rpm, with FILE.rpm from " + Page, []string{"rpm", "--query", "--file"}},
	{"/usr/lib/sysimage/rpm", "rpm", "sudo rpm --upgrade FILE.rpm, with FILE.rpm from " + Page, []string{"rpm", "--query", "--file"}},
	{"/lib/apk/db", "apk", "sudo apk add --allow-untrusted FILE.apk, with FILE.apk from " + Page, []string{"apk", "info", "--who-owns"}},
	{"/var/lib/pacman/local", "pacman", "sudo pacman -Syu burin", []string{"pacman", "--query", "--owns"}},
}

// manager is the one to which this program belongs; the zero value is none.
func (u *Updater) manager(ctx context.Context) manager {
	if u.module {
		return manager{"go install", "go install github.com/burin-dev/burin/cmd/burin@latest"}
	}
	return managerOf(ctx, u.exe)
}

func managerOf(ctx context.Context, exe string) manager {
	path := filepath.ToSlash(exe)
	for _, f := range folders {
		if strings.Contains(path, f.part) {
			return manager{f.name, f.update}
		}
	}
	// Scoop's folder can be elsewhere, and leaves this file with each program.
	if _, err := os.Stat(filepath.Join(filepath.Dir(exe), "install.json")); err == nil && strings.Contains(path, "/apps/burin/") {
		return manager{"Scoop", "scoop update burin"}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for _, d := range databases {
		if _, err := os.Stat(d.folder); err != nil {
			continue
		}
		cmd, err := installed.Command(ctx, nil, d.query[0], append(d.query[1:len(d.query):len(d.query)], exe)...)
		if err == nil && cmd.Run() == nil {
			return manager{d.name, d.update}
		}
	}
	// Containers lose what changes in them.
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil && path == "/usr/bin/burin" {
			return manager{"The image of this container", "a container of the new image"}
		}
	}
	return manager{}
}

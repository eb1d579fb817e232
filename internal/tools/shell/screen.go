package shell

import (
	"fmt"
	"path"
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
)

// fillsScreen says what to do in place of a command that fills the screen of a terminal and
// waits for keys; "" if it does not. Nobody sees such a screen or presses a key, so that it
// would only run until its time limit.
func fillsScreen(line string) string {
	for _, p := range command.Parse(line, command.Place{}).Parts {
		for _, c := range p.Layers {
			if len(c.Words) == 0 || !c.Words[0].Exact {
				continue
			}
			name := c.Words[0].Text
			if path.IsAbs(name) { // another path leads to a program of the project's own
				name = path.Base(name)
			}
			for _, s := range screens() {
				if strings.Contains(s.programs, " "+name+" ") && !s.ends(c.Words[1:]) {
					return fmt.Sprintf("%s %s, and no one sees the screen of this command: %s", name, s.does, s.instead)
				}
			}
		}
	}
	return ""
}

// screen is a kind of programs that fill the screen.
type screen struct {
	programs string   // between spaces
	batch    []string // options, by how they begin, with which they end by themselves
	does     string
	instead  string
}

func screens() []screen {
	return []screen{
		{
			" watch ",
			[]string{"-g", "--chgexit", "-v", "--version", "-h", "--help"},
			"repeats a command until someone stops it", "run the command itself, or a loop with sleep that ends",
		},
		{
			" vi vim view vimdiff gvim nvim ",
			[]string{"-c", "+", "-e", "-E", "-s", "-S", "-V", "-h", "--headless", "--cmd", "--version", "--help"},
			"is an editor", "use read, edit and write",
		},
		{
			" nano pico emacs joe micro helix hx kak ",
			[]string{"-batch", "--batch", "--script", "--eval", "-V", "-h", "--version", "--help", "--health"},
			"is an editor", "use read, edit and write",
		},
		{
			" top htop btop atop glances ",
			[]string{"-b", "-l", "-h", "-v", "-V", "--batch", "--help", "--version"},
			"shows a screen until someone stops it", "use ps, or top -b -n 1",
		},
		{
			" mc ranger nnn tig lazygit gitui ",
			[]string{"-v", "-V", "-h", "--version", "--help"},
			"fills the screen and waits for keys", "use commands that print, such as ls and git log",
		},
	}
}

// ends reports whether options are there with which the program ends by itself.
func (s *screen) ends(args []command.Word) bool {
	for _, a := range args {
		for _, b := range s.batch {
			if strings.HasPrefix(a.Text, b) {
				return true
			}
		}
	}
	return false
}

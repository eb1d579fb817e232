package shell

import (
	"strings"

	"github.com/burin-dev/burin/internal/platform/permission/command"
)

// needsOrder reports whether it matters to a command which others run before it, or
// to others whether it does: it may change the shell, or it uses what is only known
// to the shell that remembers. Of calls that run beside each other one has that
// shell, whichever comes first, and the others have copies of its folder and its
// exported variables.
func needsOrder(line string) bool {
	l := command.Parse(line, command.Place{})
	if l.Failure != "" || len(l.Free) > 0 {
		return true
	}
	for _, p := range l.Parts {
		if p.Kind == command.Shell {
			return true
		}
		for _, c := range p.Layers {
			if len(c.Words) == 0 || !c.Words[0].Exact || strings.Contains(ofTheShell, " "+c.Words[0].Text+" ") {
				return true
			}
		}
	}
	return false
}

// ofTheShell are the builtins that change the shell, end it, or tell of its state.
const ofTheShell = " . alias bg bind builtin caller cd command complete compgen compopt declare dirs disown enable eval exec exit export fc fg " +
	"function getopts hash help history jobs let local logout mapfile popd pushd read readarray readonly return set shift shopt source " +
	"suspend times trap type typeset ulimit umask unalias unset wait "

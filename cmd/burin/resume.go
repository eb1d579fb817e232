package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/transcript/place"
)

// resumption says with which session to go on.
type resumption struct {
	goOn    bool
	resume  string
	session string
	seal    bool
	choose  bool                   // from a list, in the terminal
	attach  bool                   // only where another process has it open
	given   func(flag string) bool // reports whether a flag was written; nil: none was
}

func (r *resumption) register(f *pflag.FlagSet) {
	f.BoolVarP(&r.goOn, "continue", "c", false, "continue the last session of this terminal or folder")
	f.StringVarP(&r.resume, "resume", "r", "", "resume a session: its id, the beginning of its id, or its file; without one, choose from a list")
	f.StringVar(&r.session, "session", "", "session file to continue, database to keep it in (FILE.db or postgres://…), or folder for new sessions")
	r.given = f.Changed
	f.BoolVar(&r.seal, "seal", false, "encrypt the new session: with a key of the system's keyring, or a pass phrase")
}

func (r *resumption) check() error {
	// A script whose variable is empty does not want a new session.
	switch {
	case r.given == nil:
	case r.resume == "" && r.given("resume"):
		return usage("--resume: %w", archive.ErrUnnamed)
	case r.session == "" && r.given("session"):
		return usage("--session: no file is named: give a session file, a database (FILE.db or postgres://…), or a folder")
	}
	n := 0
	for _, given := range []bool{r.goOn, r.resume != "", r.session != "" && !archive.IsDir(r.session)} {
		if given {
			n++
		}
	}
	if r.seal && (r.goOn || r.resume != "" || r.session != "" && !place.Parse(r.session).SQL && !archive.IsDir(r.session)) {
		return usage("--seal is for new sessions; burin sessions seal encrypts an existing one")
	}
	if n > 1 {
		return usage("--continue, --resume and --session FILE each name a session: give one of them")
	}
	return nil
}

var unclean = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// terminalID names the terminal that burin runs in; "" if it has none. The device
// comes first: the variables outlive the window they were set for.
func (p *program) terminalID() string {
	id := ""
	if p.isTerminal(p.in) {
		if tty, err := os.Readlink("/proc/self/fd/0"); err == nil {
			id = tty
		}
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "TMUX_PANE", "TERM_SESSION_ID", "WT_SESSION"} {
		if v := p.getenv(name); id == "" && v != "" {
			id = name + "-" + v
		}
	}
	return strings.Trim(unclean.ReplaceAllString(id, "-"), "-")
}

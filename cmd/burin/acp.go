package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/mode/acp"
	"github.com/burin-dev/burin/internal/model/connect"
	"github.com/burin-dev/burin/internal/model/credential"
	"github.com/burin-dev/burin/session"
)

// modeACP is the value of --mode for editors.
const modeACP = "acp"

// acpLogin is the variable that an editor sets where it starts burin in a terminal, so that
// a person can log in.
const acpLogin = "BURIN_ACP_LOGIN"

// acpCommand serves an editor.
func acpCommand(p *program) *cobra.Command {
	var a askFlags
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve an editor that speaks the Agent Client Protocol",
		Long: `Serve an editor that speaks the Agent Client Protocol, on standard input and output:
Zed, JetBrains, Neovim, Emacs. The editor starts it; docs/editors.md says how to set it up.
Flags hold for all sessions of the editor; burin help flags lists more of them.

  burin acp --approval auto-edit`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, args []string) error { return p.serveEditor(cmd.Context(), a, args) },
	}
	a.register(cmd.Flags())
	cmd.Flags().VisitAll(func(f *pflag.Flag) { // those that matter here; burin help flags has all
		f.Hidden = !slices.Contains([]string{"approval", "allow", "deny", "sandbox", "add-dir", "model", "thinking", "max-cost"}, f.Name)
	})
	return cmd
}

// serveEditor speaks the protocol until the editor ends its side. Standard output has
// nothing else.
func (p *program) serveEditor(ctx context.Context, a askFlags, args []string) error {
	for flag, given := range map[string]bool{
		"--print": a.print, "--steps": a.steps, "--json-schema": a.schema != "", "--continue": a.goOn, "--resume": a.resume != "",
		"--session FILE": a.session != "" && !archive.IsDir(a.session),
	} {
		if given {
			return usage("%s is not for editors, which choose the session and the prompt themselves", flag)
		}
	}
	if len(args) > 0 {
		return usage("%q is one argument too many: an editor sends its prompts on standard input", args[0])
	}
	if err := a.check(); err != nil {
		return err
	}
	if p.getenv(acpLogin) != "" {
		return p.logInHere(ctx)
	}
	dir, err := archive.WorkDir()
	if err != nil {
		return err
	}
	p.sealing.AskWith(func(context.Context, string) (string, error) {
		return "", errors.New("an editor can't ask for a pass phrase: set BURIN_SESSION_PASSPHRASE, or open the session in a terminal first")
	})
	e := &editor{newHosts(p, a)}
	defer e.close(ctx)
	return acp.Run(ctx, acp.Options{
		In: p.in, Out: p.out, Dir: dir, Version: version(), Log: func(line string) { p.warn(words.Line(line)) },
		Open: e.open, Join: e.join, Folder: e.folder, Login: map[string]string{acpLogin: "1"},
	})
}

// logInHere lets a person choose a provider and log in, in the terminal that an editor has
// opened for that.
func (p *program) logInHere(ctx context.Context) error {
	return p.withModels(func(m *connect.Models) error {
		logins := m.Logins()
		fmt.Fprintf(p.err, "Log in to one of these:\n\n  %s\n\nProvider: ", strings.Join(logins, "\n  "))
		line, err := bufio.NewReader(interruptible(ctx, p.in)).ReadString('\n')
		if err != nil {
			return fmt.Errorf("choose a provider: %w", err)
		}
		name := strings.TrimSpace(line)
		if !slices.Contains(logins, name) {
			return usage("%q has no login: burin keys add %s stores a key", name, name)
		}
		info, err := m.Keys.Login(ctx, name, credential.LoginOptions{}, loginUI(p))
		if err == nil {
			fmt.Fprintf(p.err, "Logged in to %s.\n", info.Provider)
		}
		return err
	})
}

// editor is the program around the face for editors.
type editor struct{ *hosts }

// folder is the program around the sessions of a folder.
func (e *editor) folder(dir string) (acp.Folder, error) {
	h, err := e.in(dir)
	if err != nil {
		return nil, err
	}
	return editorFolder{h, e.ask}, nil
}

type editorFolder struct {
	*host.Host
	ask askFlags
}

// Own implements [acp.Folder].
func (f editorFolder) Own() slash.Own { return ownCommands(f.Host, f.ask) }

// Archive implements [acp.Folder].
func (f editorFolder) Archive() (acp.Archive, error) { return f.Host.Archive(nil) }

// open opens a session, and lets terminals attach to it.
func (e *editor) open(ctx context.Context, w acp.Wish) (session.Handle, error) {
	h, err := e.in(w.Dir)
	if err != nil {
		return nil, err
	}
	begin := func() (*session.Session, error) {
		o := e.ask.wish()
		o.Passed = w.Servers
		o.Ground.Dir, o.Ground.AddDirs = w.Dir, slices.Concat(o.Ground.AddDirs, w.AddDirs)
		o.Resume, o.Warn, o.KeepPlan = w.Resume, w.Warn, true
		if w.Documents != nil {
			o.Documents = w.Documents
		}
		o.Desk = session.NewDesk(session.DeskOptions{})
		o.Desk.Attend() // the editor
		return h.Open(ctx, o)
	}
	s, err := e.place(h, !w.Terminals || e.ask.noSession).Open(ctx, w.Resume, "editor", true, begin)
	if err == nil && len(w.Servers) > 0 && !s.Owns() {
		w.Warn("another burin has this session open: it uses that one's MCP servers, not the editor's")
	}
	return s, err
}

func (e *editor) place(h *host.Host, blind bool) owner.Place {
	return owner.Place{Data: h.Paths().Data, Getenv: e.program.getenv, Blind: blind}
}

// join returns how burin joins a terminal to a program of a session in dir.
func (e *editor) join(dir string, s session.Handle, id string) ([]string, error) {
	h, err := e.in(dir)
	if err != nil {
		return nil, err
	}
	address, err := e.place(h, true).Where(s.Facts().Path)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find burin's executable: %w", err)
	}
	return []string{self, consoleName, address, id}, nil
}

package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/tui/console"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// consoleName is the command that an editor runs in its terminal; see [consoleCommand].
const consoleName = "console"

// consoleCommand joins this terminal to a program that a session shows. Editors run it, in the
// terminals that burin asks them for.
func consoleCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: consoleName + " ADDRESS ID", Short: "Show a program of a session in this terminal", Hidden: true, Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := owner.Dial(cmd.Context(), args[0], "console", remote.Own)
			if err != nil {
				return err
			}
			defer s.Close() //nolint:errcheck // it only leaves
			return showProgram(cmd.Context(), p.out, s.Consoles(), args[1])
		},
	}
}

// showProgram shows a program until it ends: in the terminal, or on standard output where there
// is none to type in.
func showProgram(ctx context.Context, stdout io.Writer, programs session.Consoles, id string) error {
	open, err := programs.List(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(open, func(c session.Console) bool { return c.ID == id })
	if i < 0 {
		return session.ErrNoProgram
	}
	tty, err := terminal.Open()
	if err != nil {
		err = programs.Follow(ctx, id, func(b []byte) error {
			_, err := stdout.Write(b)
			return err
		})
		if errors.Is(err, session.ErrNoProgram) {
			err = nil
		}
		return err
	}
	defer tty.Close() //nolint:errcheck // nothing was changed with it
	in, out, back, err := tty.LendRaw()
	if err != nil {
		return err
	}
	defer back()
	_, err = console.Join(ctx, programs, &open[i], console.Terminal{In: in, Out: out, Size: tty.Size})
	return err
}

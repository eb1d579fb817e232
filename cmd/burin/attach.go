package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/internal/host/owner"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/internal/mode/tui/terminal"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/remote"
)

// attachCommand joins a session that another burin has open.
func attachCommand(p *program) *cobra.Command {
	var a askFlags
	mode, address := "", false
	cmd := &cobra.Command{
		Use:               "attach [ID]",
		ValidArgsFunction: offerRunning(p),
		Short:             "Join a session that another burin has open",
		Long: `Join a session that another burin has open, in a terminal of its own: both show the same,
either can answer what is asked, and what is sent from here waits like what is sent there.
When the other ends, the session continues here. Without an id it is the last one of this
folder; with one, burin goes to the folder of that session.

With --mode json it only watches: each event is a line of JSON, until the session ends.

The address of a server joins a session there: http://127.0.0.1:4647/ID, or without ID the
last one. BURIN_SERVER_TOKEN is the token of a server that isn't yours.

With --address it prints where programs can join it: the path of a socket, for
the client in clients/typescript and others that speak its protocol.

  burin attach
  burin attach 4f2a --mode json`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.attach, a.goOn = true, len(args) == 0
			if len(args) == 1 {
				var err error
				if args[0] == "" {
					return archive.ErrUnnamed
				}
				if isServer(args[0]) {
					a.resume = args[0]
				} else if a.resume, err = goToSession(cmd.Context(), p, args[0]); err != nil {
					return err
				}
			}
			if address && isServer(a.resume) {
				return usage("--address is for sessions of this machine: programs ask a server over HTTP")
			}
			if address {
				return printAddress(cmd.Context(), p, a)
			}
			switch mode {
			case string(print.JSON):
				return watch(cmd.Context(), p, a)
			case "":
			default:
				return usage("--mode: %q is not json; without it the terminal is shown", mode)
			}
			tty, err := terminal.Open()
			if err != nil {
				return fmt.Errorf("join a session: %w", err)
			}
			defer tty.Close()
			return p.talk(cmd.Context(), a, "", tty)
		},
	}
	cmd.Flags().StringVar(&mode, "mode", "", "json: write the events, and only watch")
	cmd.Flags().BoolVar(&address, "address", false, "print where programs can join it, and do nothing else")
	return cmd
}

// attached is a session that another process has open.
func (p *program) attached(ctx context.Context, paths config.Paths, path, name string, rights remote.Rights) (session.Handle, error) {
	s, err := owner.Place{Data: paths.Data, Getenv: p.getenv}.Attach(ctx, path, name, rights)
	if errors.Is(err, owner.ErrNobody) {
		err = fmt.Errorf("%w: burin --resume continues it", err)
	}
	return s, err
}

// printAddress says where the owner of a session listens.
func printAddress(ctx context.Context, p *program, a askFlags) error {
	h, err := p.host(nil)
	if err != nil {
		return err
	}
	path, err := p.resumes(ctx, h, a.agentFlags, nil)
	if err != nil {
		return err
	}
	address, err := owner.Place{Data: h.Paths().Data, Getenv: p.getenv}.Address(ctx, path)
	if errors.Is(err, owner.ErrNobody) {
		return fmt.Errorf("%w: burin --background --resume %s opens it", err, a.resume)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.out, address)
	return err
}

// sessionToWatch is the session to watch.
func sessionToWatch(ctx context.Context, p *program, a askFlags) (session.Handle, error) {
	if isServer(a.resume) {
		return joinServer(ctx, p, a.resume, "watcher", remote.Watch)
	}
	h, err := p.host(nil)
	if err != nil {
		return nil, err
	}
	path, err := p.resumes(ctx, h, a.agentFlags, nil)
	if err != nil {
		return nil, err
	}
	return p.attached(ctx, h.Paths(), path, "watcher", remote.Watch)
}

// watch writes the events of a session that another process has open.
func watch(ctx context.Context, p *program, a askFlags) error {
	s, err := sessionToWatch(ctx, p, a)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // it only leaves
	feed, out := s.Events(session.Cursor{}), json.NewEncoder(p.out)
	out.SetEscapeHTML(false)
	if _, err := fmt.Fprintf(p.out, "%s\n", session.EventHead()); err != nil {
		return err
	}
	for {
		e, err := feed.Next(ctx)
		switch {
		case errors.Is(err, session.ErrClosed), errors.Is(err, session.ErrOwnerGone), ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if err := out.Encode(e); err != nil {
			return err
		}
	}
}

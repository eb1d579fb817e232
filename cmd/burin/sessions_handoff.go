package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/host/archive"
)

// handoffOptions say which session is handed over, and which model writes.
type handoffOptions struct {
	which, focus string
	ask          askFlags
}

func sessionsHandoffCommand(p *program) *cobra.Command {
	var o handoffOptions
	cmd := &cobra.Command{
		Use:               "handoff ID [FOCUS...]",
		ValidArgsFunction: offerSessions(p),
		Short:             "Summarize a session and start a new one from it",
		Long: `Let the session's model write a summary of the work, and start a new session in the same
folder with it. FOCUS says what comes next. It prints the id of the new session.

  burin sessions handoff 1f9d "now the documentation"`,
		Args: arguments(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.which, o.focus = args[0], strings.Join(args[1:], " ")
			return handoffSession(cmd.Context(), p, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ask.model, "model", "", "model that writes; default that of the session")
	f.StringVar(&o.ask.baseURL, "base-url", "", "server address, for a model that is not configured")
	f.StringVar(&o.ask.api, "api", "", "wire format of --base-url")
	f.Float64Var(&o.ask.maxCost, "max-cost", 0, "maximum cost in US dollars; 0 means no limit")
	return cmd
}

func handoffSession(ctx context.Context, p *program, o handoffOptions) error {
	if err := o.ask.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	past, err := a.Past(ctx, o.which)
	if err != nil {
		return err
	}
	if o.ask.model == "" {
		o.ask.model = past.Model
	}
	document, err := writeHandoff(ctx, p, past, o)
	if err != nil {
		return archive.GoingOn(past.File, err)
	}
	made, err := a.Begin(ctx, past.File, past.Header, past.Title, document)
	if err != nil {
		return err
	}
	return began(p, made)
}

// writeHandoff has the model of a session write the document.
func writeHandoff(ctx context.Context, p *program, past archive.Past, o handoffOptions) (document string, err error) {
	h, err := p.host(nil)
	if err != nil {
		return "", err
	}
	defer p.closeHost(ctx, h)
	so := o.ask.wish()
	so.Resume = past.File
	if dir := past.Header.CWD; archive.IsDir(dir) { // else the folder is gone, and no tool runs
		so.Ground.Dir = dir
	}
	s, err := h.Open(ctx, so)
	if err != nil {
		return "", err
	}
	document, err = s.Handoff(ctx, o.focus)
	return document, errors.Join(err, s.Close())
}

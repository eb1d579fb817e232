package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// handoffOptions say which session is handed over, and which model writes.
type handoffOptions struct {
	which, focus string
	ask          askFlags
}

func (p *program) sessionsHandoffCommand() *cobra.Command {
	var o handoffOptions
	cmd := &cobra.Command{
		Use:   "handoff ID [FOCUS...]",
		Short: "Let the model write what a new session needs, and begin it",
		Long: `Let the model of a session write a document with which another one can go on, and begin
a new session of the same folder with it. FOCUS says what comes next. It prints the id
of the new session.

  burin sessions handoff 1f9d "now the documentation"`,
		Args: arguments(1, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.which, o.focus = args[0], strings.Join(args[1:], " ")
			return p.handoffSession(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ask.model, "model", "", "model that writes; default that of the session")
	f.StringVar(&o.ask.baseURL, "base-url", "", "address of the server that has the model, for one that is not configured")
	f.StringVar(&o.ask.api, "api", "", "wire format of --base-url")
	f.Float64Var(&o.ask.maxCost, "max-cost", 0, "most US dollars to spend; 0 is no limit")
	return cmd
}

func (p *program) handoffSession(ctx context.Context, o handoffOptions) error {
	if err := o.ask.check(); err != nil {
		return err
	}
	a, file, err := p.theSession(ctx, o.which)
	if err != nil {
		return err
	}
	l, _, err := a.read(ctx, file)
	if err != nil {
		return explain(file, err)
	}
	header, title := l.Header(), nameOf(l)
	past, err := l.Context(l.Leaf())
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	if len(past.Messages) < 2 {
		return fmt.Errorf("there is nothing to hand over in session %s: too little has been said", header.ID)
	}
	if o.ask.model == "" {
		o.ask.model = past.Models["default"]
	}
	document, err := p.writeHandoff(ctx, a, file, header.CWD, o)
	if err != nil {
		return goingOn(file, err)
	}
	return p.beginHandoff(ctx, a, file, header, title, document)
}

// writeHandoff has the model of a session write the document.
func (p *program) writeHandoff(ctx context.Context, a *archive, file, dir string, o handoffOptions) (document string, err error) {
	settings, models, err := p.open(nil)
	defer closeModels(ctx, models)
	if err != nil {
		return "", err
	}
	so, err := p.modelOptions(ctx, o.ask, settings, models, "")
	if err != nil {
		return "", err
	}
	if err := p.agentOptions(&so, o.ask.agentFlags, settings, a.paths); err != nil {
		return "", err
	}
	so.Dir, so.Resume, so.Keys = dir, file, a.keys(ctx)
	if !isDir(dir) {
		so.Dir = "" // the folder is gone, and no tool runs
	}
	done, err := p.openMeter(ctx, &so, settings, a.paths, dir)
	if err != nil {
		return "", err
	}
	defer done()
	s, err := burin.New(ctx, so)
	if err != nil {
		return "", err
	}
	document, err = s.Handoff(ctx, o.focus)
	return document, errors.Join(err, s.Close())
}

// beginHandoff makes the new session, whose first entry is the document.
func (p *program) beginHandoff(ctx context.Context, a *archive, file string, from transcript.Header, title, document string) error {
	title, err := p.hidden(a, title) // it may be older than what hides secrets
	if err != nil {
		return err
	}
	path, id := transcript.NewPath(a.root, from.CWD, time.Now())
	store, err := p.newSession(ctx, a, path, file)
	if err != nil {
		return err
	}
	l, err := transcript.Create(store, transcript.Header{ID: id, CWD: from.CWD, Title: title, ParentSession: from.ID}, transcript.Options{Blobs: a.blobs()})
	if err != nil {
		return err
	}
	words, err := json.Marshal(compact.Handoff(document))
	if err == nil {
		_, err = l.Append(transcript.Entry{
			Type: transcript.TypeCustomMessage, CustomType: "handoff", Content: words, Display: true, Attribution: "agent",
		})
	}
	if err == nil {
		err = store.Publish() // no model has answered in it, and it is to stay
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	p.began(a, from.CWD, path, id)
	return nil
}

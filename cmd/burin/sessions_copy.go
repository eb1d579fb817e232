package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/transcript"
)

func (p *program) sessionsForkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fork ID",
		Short: "Copy a session into this folder",
		Long: `Copy a session, with all its branches and outputs, into this folder, to go on with the
copy. It prints the id of the copy.

  burin sessions fork 1f9d`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return p.forkSession(cmd.Context(), args[0]) },
	}
}

func (p *program) forkSession(ctx context.Context, which string) error {
	dir, err := workDir()
	if err != nil {
		return err
	}
	return p.copySession(ctx, which, dir, transcript.Fork)
}

func (p *program) sessionsBranchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "branch ID ENTRY",
		Short: "Copy a session up to an entry",
		Long: `Copy a session up to an entry, without its other branches, to go on from there. ENTRY is
the entry's id or the beginning of it, as sessions show --json and sessions search
write it. It prints the id of the copy, which belongs to the folder of the session.

  burin sessions branch 1f9d 03ab`,
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.branchSession(cmd.Context(), args[0], args[1])
		},
	}
}

func (p *program) branchSession(ctx context.Context, which, entry string) error {
	return p.copySession(ctx, which, "", func(from *transcript.Log, to transcript.Store, h transcript.Header) error {
		id, err := oneEntry(from, entry)
		if err != nil {
			return err
		}
		return transcript.CopyBranch(from, id, to, h)
	})
}

// oneEntry is the id of the one entry that a word names.
func oneEntry(l *transcript.Log, word string) (string, error) {
	var found []string
	for _, n := range l.Nodes() {
		if n.ID == word {
			return n.ID, nil
		}
		if strings.HasPrefix(n.ID, word) {
			found = append(found, n.ID)
		}
	}
	switch {
	case word == "" || len(found) == 0:
		return "", fmt.Errorf("session %s has no entry %q: burin sessions show %s --json lists them", l.ID(), word, l.ID())
	case len(found) == 1:
		return found[0], nil
	}
	return "", usage("%q fits %d entries: %s; write more of the id", word, len(found), first(strings.Join(found, ", "), 100))
}

// copySession makes a new session of another one. dir is the folder that it belongs
// to; "" is that of the other one.
func (p *program) copySession(ctx context.Context, which, dir string, write func(*transcript.Log, transcript.Store, transcript.Header) error) (err error) {
	a, file, err := p.theSession(ctx, which)
	if err != nil {
		return err
	}
	from, damage, err := a.read(ctx, file)
	if err != nil {
		return explain(file, err)
	}
	defer from.Close()
	p.warnDamage(file, damage)
	if dir == "" {
		dir = from.Header().CWD
	}
	path, id := transcript.NewPath(a.root, dir, time.Now())
	store, err := p.newSession(ctx, a, path, file)
	if err != nil {
		return err
	}
	err = write(from, store, transcript.Header{ID: id, CWD: dir, Title: from.Title()})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if sealedSession(path) {
		// Its artifacts would lie beside it in the clear.
	} else if err := transcript.CopyArtifacts(file, path); err != nil {
		fmt.Fprintf(p.err, "burin: %s; the conversation is copied without them\n", oneLine(err))
	}
	p.began(a, dir, path, id)
	return nil
}

// began prints the id of a new session, and how to go on with it.
func (p *program) began(a *archive, dir, path, id string) {
	fmt.Fprintln(p.out, id)
	here, err := workDir()
	if err != nil || here != dir {
		fmt.Fprintf(p.err, "go on in %s with burin -p \"...\" --resume %s\n", shortPath(dir), id)
		return
	}
	p.leaveBreadcrumb(filepath.Join(a.paths.Data, "terminal-sessions"), dir, path)
	fmt.Fprintf(p.err, "go on with burin -p \"...\" --resume %s, or --continue\n", id)
}

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

func (p *program) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List the sessions of this folder, newest first",
		Args:  arguments(0, 0),
		RunE:  func(*cobra.Command, []string) error { return p.listSessions() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "show ID",
		Short: "Show a session: by its id or the beginning of it, or by its file",
		Args:  arguments(1, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return p.showSession(args[0]) },
	})
	return cmd
}

// sessionFiles are the session files of one folder, or of all, newest first.
func (p *program) sessionFiles(all bool) ([]string, error) {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(paths.Data, "sessions")
	if !all {
		dir, err := workDir()
		if err != nil {
			return nil, err
		}
		root = filepath.Join(root, transcript.EncodeDir(dir))
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return nil // what cannot be read is not listed
	})
	slices.SortFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(b), filepath.Base(a)) })
	return files, err
}

func (p *program) listSessions() error {
	files, err := p.sessionFiles(false)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		fmt.Fprintln(p.err, "no sessions of this folder yet")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, file := range files {
		l, _, err := transcript.ReadSession(file, transcript.Options{})
		if err != nil {
			fmt.Fprintf(p.err, "burin: %s\n", oneLine(err))
			continue
		}
		h := l.Header()
		fmt.Fprintf(w, "%s\t%s\t%s\n", h.ID, strings.Replace(h.Timestamp[:min(16, len(h.Timestamp))], "T", " ", 1), firstWords(l))
		l.Close()
	}
	return w.Flush()
}

// firstWords is the beginning of what a person first said.
func firstWords(l *transcript.Log) string {
	for _, n := range l.Nodes() {
		if n.Role != llm.RoleUser {
			continue
		}
		e, err := l.Entry(n.ID)
		if err != nil {
			continue
		}
		words := strings.Join(strings.Fields(e.Message.Text()), " ")
		if r := []rune(words); len(r) > 80 {
			words = string(r[:79]) + "…"
		}
		return words
	}
	return ""
}

func (p *program) showSession(which string) error {
	file, err := p.findSession(which)
	if err != nil {
		return err
	}
	l, damage, err := transcript.ReadSession(file, transcript.Options{})
	if err != nil {
		return err
	}
	defer l.Close()
	if damage.Serious() {
		fmt.Fprintf(p.err, "burin: session %s: %s; what can be read is shown\n", file, damage)
	}
	branch, err := l.Branch(l.Leaf())
	if err != nil {
		return err
	}
	var messages []llm.Message
	for _, e := range branch {
		if e.Message != nil {
			messages = append(messages, *e.Message)
		}
	}
	return print.Show(p.out, messages, p.color(p.out))
}

// findSession finds a session by its file, its file's name or the beginning of its id.
func (p *program) findSession(which string) (string, error) {
	if info, err := os.Stat(which); err == nil && !info.IsDir() {
		return which, nil
	}
	files, err := p.sessionFiles(true)
	if err != nil {
		return "", err
	}
	var found []string
	for _, file := range files {
		base := filepath.Base(file)
		id := strings.TrimSuffix(base[strings.LastIndexByte(base, '_')+1:], ".jsonl")
		if base == which || strings.HasPrefix(id, which) {
			found = append(found, file)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no session %q: burin sessions lists those of this folder", which)
	case 1:
		return found[0], nil
	}
	return "", usage("%q fits %d sessions: write more of the id", which, len(found))
}

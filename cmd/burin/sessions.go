package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/mode/print"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
	"github.com/burin-dev/burin/transcript/place"
	"github.com/burin-dev/burin/transcript/sealed"
	"github.com/burin-dev/burin/transcript/sqlstore"
)

func (p *program) sessionsCommand() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, search, copy, move, export and repair sessions",
		Long: `List the sessions of this folder, newest first. The commands below it take a session
by its id, the beginning of it, or its file.

  burin sessions --all --limit 20`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listSessions(cmd.Context(), o) },
	}
	o.register(cmd.Flags())
	cmd.AddCommand(
		p.sessionsListCommand(), p.sessionsSearchCommand(), p.sessionsShowCommand(), p.sessionsReplayCommand(),
		p.sessionsRenameCommand(), p.sessionsDeleteCommand(), p.sessionsRestoreCommand(), p.sessionsMoveCommand(),
		p.sessionsForkCommand(), p.sessionsBranchCommand(), p.sessionsHandoffCommand(),
		p.sessionsExportCommand(), p.sessionsShareCommand(), p.sessionsImportCommand(),
		p.sessionsScrubCommand(), p.sessionsDoctorCommand(), p.sessionsSealCommand(), p.sessionsUnsealCommand(),
	)
	return cmd
}

// about runs a command about the session that its argument names; without one which is "".
func about(which *string, run func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			if args[0] == "" {
				return errUnnamed
			}
			*which = args[0]
		}
		return run(cmd.Context())
	}
}

// errUnnamed is that an argument is there and empty. A script whose variable is empty
// means neither no session nor all of them.
var errUnnamed = usage("no session is named: give its id, the beginning of it, or its file")

// choice is which sessions a command is about that is about several: one, those of this
// folder, or all.
type choice struct {
	which string
	all   bool
	yes   bool // it does not ask
}

// command gives a command the argument and the flags of the choice.
func (c *choice) command(cmd *cobra.Command, all string, run func(context.Context) error) *cobra.Command {
	cmd.Args, cmd.RunE = arguments(0, 1), about(&c.which, run)
	cmd.Flags().BoolVar(&c.all, "all", false, all)
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	return cmd
}

// archive is where sessions and what belongs to them lie.
type archive struct {
	paths    config.Paths
	settings *config.Config
	root     string // of the folders of session files
	trash    string
	index    string // file of the search index
	keys     func(context.Context) place.Keys
}

func (p *program) archive() (*archive, error) {
	paths, err := config.FindPaths(p.getenv)
	if err != nil {
		return nil, err
	}
	settings, err := config.Load(paths.Config)
	if err != nil {
		return nil, err
	}
	return &archive{
		paths: paths, settings: settings, root: sessionRoot(settings, paths),
		trash: filepath.Join(paths.Data, "trash"), index: filepath.Join(paths.Cache, "sessions.db"),
		keys: p.sessionKeys,
	}, nil
}

// theSession is the archive and the session that a word names.
func (p *program) theSession(ctx context.Context, which string) (*archive, string, error) {
	a, err := p.archive()
	if err != nil {
		return nil, "", err
	}
	file, err := a.find(ctx, which)
	return a, file, err
}

// blobs are the large pieces that sessions share.
func (a *archive) blobs() *transcript.Blobs {
	return transcript.NewBlobs(filepath.Join(a.paths.Data, "blobs"))
}

// read opens a session to read it whole.
func (a *archive) read(ctx context.Context, name string) (*transcript.Log, *transcript.Damage, error) {
	return place.Read(ctx, name, a.keys(ctx), transcript.Options{Blobs: a.blobs()})
}

func noDatabase(n place.Name) error { return fmt.Errorf("there is no database of sessions %s", n.File) }

// isPath reports whether a word of the command line names a file rather than an id.
func isPath(word string) bool {
	return strings.ContainsAny(word, `/\`) || strings.HasSuffix(word, ".jsonl") || strings.HasSuffix(word, ".draft") || place.Parse(word).SQL
}

// findSession finds a session by its file, its file's name or the beginning of its id.
func (p *program) findSession(which string) (string, error) {
	_, file, err := p.theSession(context.Background(), which)
	return file, err
}

func (a *archive) find(ctx context.Context, which string) (string, error) {
	if which == "" {
		return "", errUnnamed
	}
	if n := place.Parse(which); n.SQL {
		n, err := n.Abs()
		if err == nil && !n.Exists() {
			err = noDatabase(n)
		}
		if err == nil {
			err = regular(n.File)
		}
		return n.String(), err
	}
	if isPath(which) {
		_, err := os.Stat(which)
		switch {
		case err == nil:
			if err := regular(which); err != nil {
				return "", err
			}
			return filepath.Abs(which)
		case strings.ContainsAny(which, `/\`):
			return "", fmt.Errorf("there is no session file %s", which)
		}
	}
	list, err := index.List(ctx, a.root, index.ListOptions{})
	if err != nil {
		return "", err
	}
	return oneOf(which, list)
}

// regular refuses what is no file. A pipe would be waited for, for as long as nobody
// writes to it.
func regular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	what := "a device"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	}
	return fmt.Errorf("%s is no session file: it is %s", path, what)
}

// oneOf is the file of the one session that a word names. A whole id comes before the
// beginnings of others.
func oneOf(which string, list []index.Info) (string, error) {
	var found, exact []index.Info
	for _, s := range list {
		switch {
		case s.ID == which || filepath.Base(s.Path) == which:
			exact = append(exact, s)
		case strings.HasPrefix(s.ID, which):
			found = append(found, s)
		}
	}
	if len(exact) > 0 {
		found = exact
	}
	switch {
	case len(found) == 0:
		return "", fmt.Errorf("there is no session %q: burin sessions --all lists them", which)
	case len(found) == 1:
		return found[0].Path, nil
	case len(exact) > 1:
		return "", usage("%d files have the id %q: write which: %s", len(found), which, several(found, func(s index.Info) string { return s.Path }))
	}
	return "", usage("%q fits %d sessions: %s; write more of the id", which, len(found), several(found, func(s index.Info) string { return s.ID }))
}

// several says what a person tells sessions apart by.
func several(list []index.Info, name func(index.Info) string) string {
	const shown = 5
	var words []string
	for i, s := range list {
		if i == shown {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("%s (%s, %s%s)", printable(name(s)), stampOf(s.Modified), first(printable(s.Title), 40), marks(s)))
	}
	return strings.Join(words, ", ")
}

// printable is text without what a terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if print.Steers(r) {
			return ' '
		}
		return r
	}, s)
}

// shortPath is a path with ~ for the home folder.
func shortPath(path string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rest, ok := strings.CutPrefix(path, home); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
			return "~" + rest
		}
	}
	return path
}

// confirm puts a question to the person at the terminal. The error says which flag
// answers it where nobody is.
func (p *program) confirm(ctx context.Context, yes bool, question string) (bool, error) {
	if yes {
		return true, nil
	}
	tty := p.terminal()
	if tty == nil {
		return false, usage("%s Nobody can be asked here: add --yes", question)
	}
	fmt.Fprintf(p.err, "%s [y/N] ", question)
	line, err := bufio.NewReader(interruptible(ctx, tty)).ReadString('\n')
	if err != nil && line == "" {
		fmt.Fprintln(p.err)
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

// errDeclined is that the person said no.
var errDeclined = errors.New("nothing was done")

// sure is confirm for what ends with a no.
func (p *program) sure(ctx context.Context, yes bool, question string) error {
	ok, err := p.confirm(ctx, yes, question)
	if err == nil && !ok {
		err = errDeclined
	}
	return err
}

type showOptions struct {
	which string
	json  bool
}

func (p *program) sessionsShowCommand() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: by its id or the beginning of it, or by its file",
		Long: `Show what was said and done in a session, on the branch that is active.

  burin sessions show 1f9d`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return p.showSession(ctx, o) }),
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "write the entries, one a line, as they are stored")
	return cmd
}

func (p *program) showSession(ctx context.Context, o showOptions) error {
	a, file, err := p.theSession(ctx, o.which)
	if err != nil {
		return err
	}
	l, damage, err := a.read(ctx, file)
	if err != nil {
		return explain(file, err)
	}
	defer l.Close()
	p.warnDamage(file, damage)
	entries := uninterrupted(ctx, branch(l))
	if !o.json {
		if err := print.Show(p.out, entries, p.color(p.out)); err != nil {
			return err
		}
		return ctx.Err()
	}
	for e, err := range entries {
		if err != nil {
			continue // a damaged record is no line of JSON
		}
		if _, err := fmt.Fprintf(p.out, "%s\n", e.Raw); err != nil {
			return fmt.Errorf("write the entries: %w", err)
		}
	}
	return ctx.Err()
}

// branch reads the entries of the active branch, one at a time.
func branch(l *transcript.Log) iter.Seq2[*transcript.Entry, error] {
	nodes, leaf := l.Nodes(), l.Leaf()
	at := slices.IndexFunc(nodes, func(n transcript.Node) bool { return n.ID == leaf })
	var path []string
	for ; at >= 0; at = nodes[at].Parent {
		path = append(path, nodes[at].ID)
	}
	return func(yield func(*transcript.Entry, error) bool) {
		for _, id := range slices.Backward(path) {
			if !yield(l.Entry(id)) {
				return
			}
		}
	}
}

// uninterrupted is entries, as long as ctx has not ended.
func uninterrupted(ctx context.Context, entries iter.Seq2[*transcript.Entry, error]) iter.Seq2[*transcript.Entry, error] {
	return func(yield func(*transcript.Entry, error) bool) {
		for e, err := range entries {
			if ctx.Err() != nil || !yield(e, err) {
				return
			}
		}
	}
}

func (p *program) warnDamage(file string, damage *transcript.Damage) {
	if damage.Serious() {
		fmt.Fprintf(p.err, "burin: session %s: %s; what can be read is used\n", file, damage)
	}
}

// goingOn is explain for where the session is gone on with.
func goingOn(name string, err error) error {
	if errors.Is(err, transcript.ErrLocked) {
		return fmt.Errorf("session %s is open in another burin: close it there, or take a copy that burin sessions fork makes", shortPath(name))
	}
	return explain(name, err)
}

// explain says what to do about an error with a session.
func explain(name string, err error) error {
	if err == nil {
		return nil
	}
	n := place.Parse(name)
	switch {
	case errors.Is(err, transcript.ErrLocked):
		return fmt.Errorf("session %s is open in another burin: close it there first", shortPath(name))
	case errors.Is(err, transcript.ErrSealedSession):
		return fmt.Errorf("session %s is encrypted, and this is not done with one: burin sessions unseal makes it readable", shortPath(name))
	case errors.Is(err, sealed.ErrKey):
		return fmt.Errorf("session %s: the key or pass phrase is not the one that it was encrypted with", shortPath(name))
	case n.SQL:
		return explainDatabase(n, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("session %s is not there any more: %w", shortPath(name), err)
	}
	return err
}

// explainDatabase is explain for an error with a database of sessions.
func explainDatabase(n place.Name, err error) error {
	file := shortPath(n.File)
	list := shortPath(place.Name{File: n.File, SQL: true}.String())
	switch {
	case errors.Is(err, sqlstore.ErrDamaged):
		return fmt.Errorf("the database %s is damaged: take it from a backup, or save what can be read with sqlite3 %[1]s .recover", file)
	case errors.Is(err, sqlstore.ErrNoDatabase):
		return fmt.Errorf("%s is no database of sessions", file)
	case errors.Is(err, fs.ErrNotExist) && n.Session == "":
		return fmt.Errorf("there is no session in %s", file)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no session %q in %s: burin sessions list %s lists them", n.Session, file, list)
	}
	return err
}

// writeJSON writes v on lines of its own.
func (p *program) writeJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}

// stampOf is a time for lists.
func stampOf(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// nameOf is what a person knows a session by: its name, or its first words.
func nameOf(l *transcript.Log) string {
	if title := l.Title(); title != "" {
		return title
	}
	for e, err := range l.All() {
		if err == nil && e.Message != nil && e.Message.Role == llm.RoleUser {
			return transcript.TitleOf(e.Message.Text())
		}
	}
	return ""
}

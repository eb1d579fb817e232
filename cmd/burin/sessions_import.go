package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/foreign"
)

type importOptions struct {
	paths   []string
	format  string
	fromAll bool
	yes     bool
}

func (p *program) sessionsImportCommand() *cobra.Command {
	var o importOptions
	var names []string
	for _, f := range foreign.Formats() {
		names = append(names, string(f))
	}
	cmd := &cobra.Command{
		Use:   "import PATH...",
		Short: "Bring conversations of other programs here",
		Long: `Bring conversations of other programs here, and say of each what could not be carried
over. What was imported before is left as it is. Secrets in them are hidden.
Formats: ` + strings.Join(names, ", ") + `.

  burin sessions import ~/Downloads/conversations.json
  burin sessions import --from-all         list what is on this machine; --yes imports it`,
		Args: arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			return p.importSessions(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "", "the format, if it is not to be detected")
	f.BoolVar(&o.fromAll, "from-all", false, "what other programs keep on this machine")
	f.BoolVar(&o.yes, "yes", false, "with --from-all: import it")
	if err := cmd.RegisterFlagCompletionFunc("format", values(names...)); err != nil {
		panic(err) // a flag of that name is not registered: a mistake of this file
	}
	return cmd
}

func (o importOptions) check() error {
	switch {
	case o.fromAll && (len(o.paths) > 0 || o.format != ""):
		return usage("--from-all finds places and formats by itself: leave the others out")
	case !o.fromAll && len(o.paths) == 0:
		return usage("say what to import: a file or a folder, or --from-all")
	case o.format == "":
		return nil
	}
	for _, f := range foreign.Formats() {
		if string(f) == o.format {
			return nil
		}
	}
	return usage("--format: %q is no format that is read", o.format)
}

func (p *program) importSessions(ctx context.Context, o importOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	if o.fromAll {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("find the home folder: %w", err)
		}
		sources := foreign.Default(home)
		if !o.yes {
			return p.listSources(sources)
		}
		for _, s := range sources {
			o.paths = append(o.paths, s.Path)
		}
	}
	i := importer{program: p, archive: a}
	if i.dir, err = workDir(); err != nil {
		return err
	}
	if a.settings.Secrets.Enabled == nil || *a.settings.Secrets.Enabled {
		if i.vault, err = p.vault(a); err != nil {
			return err
		}
	}
	for _, path := range o.paths {
		if err := i.path(ctx, path, foreign.Format(o.format)); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.err, "imported %d, were there before %d, could not be read %d\n", i.done, i.before, i.failed)
	if i.failed > 0 && i.done+i.before == 0 {
		return errors.New("nothing could be imported; see above")
	}
	return nil
}

func (p *program) listSources(sources []foreign.Source) error {
	if len(sources) == 0 {
		fmt.Fprintln(p.err, "no other program's conversations were found")
		return nil
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, s := range sources {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Format.Title(), counted(s.Files, "file"), printable(shortPath(s.Path)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(p.err, "to import all of it: burin sessions import --from-all --yes; to import some: burin sessions import PATH")
	return nil
}

// importer writes conversations as sessions.
type importer struct {
	*program
	archive *archive
	vault   *secret.Vault // nil: secrets are not hidden
	dir     string        // for conversations without a folder

	done, before, failed int
}

// path imports what is at a path. What cannot be read does not keep the rest out.
func (i *importer) path(ctx context.Context, path string, format foreign.Format) error {
	if _, err := os.Stat(path); err != nil {
		return usage("import %s: there is no such file or folder", path)
	}
	for s, err := range foreign.Import(ctx, path, foreign.Options{Format: format}) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			i.failed++
			fmt.Fprintf(i.err, "burin: %s\n", oneLine(err))
			continue
		}
		if s.Report.Messages == 0 {
			continue
		}
		records, err := i.records(s)
		if err != nil {
			i.failed++
			fmt.Fprintf(i.err, "burin: import %s: %s\n", s.Report.Source, oneLine(err))
			continue
		}
		if err := i.write(ctx, s, records); err != nil {
			return fmt.Errorf("import %s: %w", s.Report.Source, err)
		}
	}
	return nil
}

// records are those of a conversation, without secrets.
func (i *importer) records(s *foreign.Session) ([][]byte, error) {
	if s.Header.CWD == "" {
		s.Header.CWD = i.dir
	}
	records, err := s.Records()
	for n := range records {
		if err != nil || i.vault == nil {
			break
		}
		records[n], err = hideRecord(i.vault, records[n])
	}
	return records, err
}

// write keeps one conversation, unless it was imported before.
func (i *importer) write(ctx context.Context, s *foreign.Session, records [][]byte) error {
	at, err := time.Parse(time.RFC3339Nano, s.Header.Timestamp)
	if err != nil {
		at = time.Now()
	}
	path, _ := transcript.NewPath(i.archive.root, s.Header.CWD, at)
	name := filepath.Base(path)
	id := strings.Map(func(r rune) rune {
		if r == '_' || r < ' ' || strings.ContainsRune(`/\:*?"<>|[]`, r) {
			return '-'
		}
		return r
	}, s.Header.ID)
	path = filepath.Join(filepath.Dir(path), name[:strings.LastIndexByte(name, '_')+1]+id+".jsonl")
	if there, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*_"+id+".jsonl")); len(there) > 0 {
		i.before++
		return nil
	}
	store, err := i.newSession(ctx, i.archive, path, "")
	if err != nil {
		return err
	}
	for _, r := range records {
		if _, err = store.Append(i.kept(r)); err != nil {
			break
		}
	}
	if err == nil {
		err = store.Publish()
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if at.Before(time.Now()) {
		_ = os.Chtimes(path, at, at) // it only decides the place in lists
	}
	i.done++
	fmt.Fprintf(i.out, "%s\n%s\n", id, printableLines(s.Report.String()))
	return nil
}

// kept is a record as it is kept: with large pictures and texts in blobs, unless it is
// encrypted. A disk that takes no blob may still take the record.
func (i *importer) kept(record []byte) []byte {
	if i.archive.settings.Sessions.Encrypt {
		return record
	}
	kept, err := transcript.OutsourceRecord(i.archive.blobs(), record)
	if err != nil {
		fmt.Fprintf(i.err, "burin: %s; it stays in the session\n", oneLine(err))
	}
	return kept
}

// printableLines is printable for several lines.
func printableLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		lines[i] = printable(l)
	}
	return strings.Join(lines, "\n")
}

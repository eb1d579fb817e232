package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export"
)

type exportOptions struct {
	which     string
	format    string
	output    string
	force     bool
	noSecrets bool
}

func (p *program) sessionsExportCommand() *cobra.Command {
	var o exportOptions
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as a page, a document or JSON",
		Long: `Write a session as a page that needs nothing else (html), as the active branch in
Markdown (md), or whole as JSON (json). Secrets are hidden once more. A file that is
there already is kept, unless --force replaces it; a session is never replaced.

  burin sessions export 1f9d --format md -o -`,
		Args: arguments(1, 1),
	}
	f := cmd.Flags()
	cmd.RunE = about(&o.which, func(ctx context.Context) error {
		if o.output == "" && f.Changed("output") { // a script's variable is empty
			return usage("-o: no file is named")
		}
		return p.exportSession(ctx, o)
	})
	f.StringVar(&o.format, "format", "", "html, md or json; default as the file's name says, else html")
	f.StringVarP(&o.output, "output", "o", "", "the file to write; - is standard output; default burin-ID.FORMAT")
	f.BoolVar(&o.force, "force", false, "replace the file if it is there already")
	f.BoolVar(&o.noSecrets, "no-secrets", false, "do not look for secrets")
	if err := cmd.RegisterFlagCompletionFunc("format", values("html", "md", "json")); err != nil {
		panic(err) // a flag of that name is not registered: a mistake of this file
	}
	return cmd
}

// writer is the function that writes a format.
func (o *exportOptions) writer() (func(io.Writer, export.Page) error, error) {
	if o.format == "" {
		o.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(o.output), "."))
		if o.format != "md" && o.format != "json" {
			o.format = "html"
		}
	}
	switch o.format {
	case "html":
		return export.HTML, nil
	case "md":
		return export.Markdown, nil
	case "json":
		return export.JSON, nil
	}
	return nil, usage("--format: %q is none of html, md, json", o.format)
}

func (p *program) exportSession(ctx context.Context, o exportOptions) error {
	write, err := o.writer()
	if err != nil {
		return err
	}
	a, err := p.archive()
	if err != nil {
		return err
	}
	var to output
	if o.output != "" && o.output != "-" { // before the session is read, which may take long
		if to, err = a.outputFile(o.output, o.force); err != nil {
			return err
		}
	}
	page, err := p.page(ctx, a, o.which, !o.noSecrets)
	if err != nil {
		return err
	}
	if o.output == "-" {
		return write(p.out, page)
	}
	if o.output == "" {
		o.output = "burin-" + filepath.Base(page.Header.ID) + "." + o.format
		if to, err = a.outputFile(o.output, o.force); err != nil {
			return err
		}
	}
	if err := to.write(func(w io.Writer) error { return write(w, page) }); err != nil {
		return err
	}
	fmt.Fprintln(p.out, o.output)
	return nil
}

// writeFile writes a file whole or not at all. Another file is replaced only if that
// is wanted.
func writeFile(path string, replace bool, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil && !replace {
		return fmt.Errorf("write %s: it is there already: choose another file with -o", path)
	}
	if err := putFile(path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// putFile writes a file whole or not at all, in place of one that is there. Errors do not
// name it, nor the file that is written first.
func putFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".burin-") // 0600
	if err != nil {
		return pathless(err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it is half a file
			err = pathless(err)
		}
	}()
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// pathless is an error without the path that the operating system's call was given.
func pathless(err error) error {
	if wrong, ok := errors.AsType[*fs.PathError](err); ok {
		return wrong.Err
	}
	if wrong, ok := errors.AsType[*os.LinkError](err); ok {
		return wrong.Err
	}
	return err
}

// page is a session to export, without secrets if hide is set.
func (p *program) page(ctx context.Context, a *archive, which string, hide bool) (export.Page, error) {
	file, err := a.find(ctx, which)
	if err != nil {
		return export.Page{}, err
	}
	l, damage, err := a.read(ctx, file)
	if err != nil {
		return export.Page{}, explain(file, err)
	}
	defer l.Close()
	p.warnDamage(file, damage)
	page := export.Page{Header: l.Header(), Leaf: l.Leaf(), Title: l.Title(), Generated: time.Now(), Version: version()}
	nodes, gone := l.Nodes(), map[string]*string{} // what cannot be read, and what it follows
	for e, err := range l.All() {
		n := nodes[len(page.Entries)+len(gone)]
		if err != nil {
			gone[n.ID] = nil
			if n.Parent >= 0 {
				gone[n.ID] = readable(gone, &nodes[n.Parent].ID)
			}
			continue
		}
		e.ParentID = readable(gone, e.ParentID)
		if e.Type == transcript.TypeInit && e.SystemPrompt != "" {
			page.System = e.SystemPrompt
		}
		page.Entries = append(page.Entries, *e)
	}
	if len(gone) > 0 {
		fmt.Fprintf(p.err, "burin: session %s: cannot be read, and left out: %s\n", shortPath(file), counted(len(gone), "message"))
		leaf := readable(gone, &page.Leaf)
		if page.Leaf = ""; leaf != nil {
			page.Leaf = *leaf
		}
	}
	if !hide {
		return page, nil
	}
	vault, err := p.vault(a)
	if err != nil {
		return export.Page{}, err
	}
	for range 2 { // what is recognized late stood in the clear before
		hidePage(vault, &page)
	}
	return page, nil
}

// readable is the entry of that id, or the nearest before it that is not gone.
func readable(gone map[string]*string, id *string) *string {
	if id != nil {
		if before, ok := gone[*id]; ok {
			return before
		}
	}
	return id
}

// vault knows the secrets of this machine, as sessions do.
func (p *program) vault(a *archive) (*secret.Vault, error) {
	entries, err := loadSecrets(".burin", a.paths.Config)
	if err != nil {
		return nil, err
	}
	// The placeholders are those of the sessions; without the key they are others.
	key, err := os.ReadFile(filepath.Join(a.paths.Data, "placeholder.key"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key of placeholders: %w", err)
	}
	return secret.New(secret.Options{Env: os.Environ(), Entries: entries, Key: key})
}

// hidden is a text that a person gives a session, without what is secret in it, unless the
// settings say that nothing is hidden.
func (p *program) hidden(a *archive, text string) (string, error) {
	if on := a.settings.Secrets.Enabled; on != nil && !*on {
		return text, nil
	}
	v, err := p.vault(a)
	if err != nil {
		return "", err
	}
	return v.Hide(v.Hide(text)), nil // what is recognized late stood in the clear before
}

// hidePage hides what is secret in a page.
func hidePage(v *secret.Vault, page *export.Page) {
	page.Title, page.System = v.Hide(page.Title), v.Hide(page.System)
	page.Header.Title, page.Header.CWD = v.Hide(page.Header.Title), v.Hide(page.Header.CWD)
	for i := range page.Entries {
		hideEntry(v, &page.Entries[i])
	}
}

// hideEntry hides what is secret in an entry and in its record.
func hideEntry(v *secret.Vault, e *transcript.Entry) {
	if e.Message != nil { // what lay in blobs stands only here
		m := v.HideMessages([]llm.Message{*e.Message})[0]
		e.Message = &m
	}
	hidden := v.HideJSON(e.Raw)
	if string(hidden) == string(e.Raw) {
		return
	}
	was := *e
	*e = transcript.Entry{}
	if json.Unmarshal(hidden, e) != nil {
		// Nothing of a record that cannot be read any more is shown.
		*e = transcript.Entry{Type: was.Type}
		hidden = nil
	}
	e.ID, e.ParentID, e.Timestamp, e.Message, e.Raw = was.ID, was.ParentID, was.Timestamp, was.Message, hidden
}

type shareOptions struct {
	which string
	yes   bool
}

func (p *program) sessionsShareCommand() *cobra.Command {
	var o shareOptions
	cmd := &cobra.Command{
		Use:   "share ID",
		Short: "Put a session where others can see it",
		Long: `Put the page of a session where others can see it, and print its address. A program
named share in burin's configuration folder does that: it is given the page's file and
prints an address. Without one, the page becomes a secret gist of gh, which everyone
can see who has the address. Secrets are hidden once more.

  burin sessions share 1f9d`,
		Args: arguments(1, 1),
		RunE: about(&o.which, func(ctx context.Context) error { return p.shareSession(ctx, o) }),
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	return cmd
}

func (p *program) shareSession(ctx context.Context, o shareOptions) (err error) {
	a, err := p.archive()
	if err != nil {
		return err
	}
	page, err := p.page(ctx, a, o.which, true)
	if err != nil {
		return err
	}
	script, err := a.shareScript()
	if err != nil {
		return err
	}
	where := "with " + shortPath(script)
	if script == "" {
		if err := p.ghReady(ctx); err != nil {
			return err
		}
		where = "as a gist that everyone can see who has its address"
	}
	if err := p.sure(ctx, o.yes, fmt.Sprintf("Share session %s (%s), %d entries, %s?", page.Header.ID, first(printable(titleOf(page)), 60), len(page.Entries), where)); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "burin-share-") // 0700
	if err != nil {
		return fmt.Errorf("share session: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "session-"+filepath.Base(page.Header.ID)+".html")
	if err := writeFile(file, false, func(w io.Writer) error { return export.HTML(w, page) }); err != nil {
		return err
	}
	if script != "" {
		return p.shareBy(ctx, script, file)
	}
	return p.shareGist(ctx, file)
}

// titleOf is what a person knows a session by: its name, or its first words.
func titleOf(page export.Page) string {
	if page.Title != "" {
		return page.Title
	}
	for _, e := range page.Entries {
		if e.Message != nil && e.Message.Role == llm.RoleUser {
			return transcript.TitleOf(e.Message.Text())
		}
	}
	return ""
}

// shareScript is the person's own way to share; "" if there is none. One that cannot
// run is an error: who has one does not want a gist.
func (a *archive) shareScript() (string, error) {
	path := filepath.Join(a.paths.Config, "share")
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("share session: %w", err)
	case info.IsDir(), runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return "", fmt.Errorf("%s cannot be run: make it executable, or remove it to share with gh", path)
	}
	return path, nil
}

func (p *program) shareBy(ctx context.Context, script, file string) error {
	out, err := p.output(ctx, script, file)
	if err != nil {
		return fmt.Errorf("share with %s: %w", script, err)
	}
	if out == "" {
		out = "shared"
	}
	fmt.Fprintln(p.out, out)
	return nil
}

// ghReady says what is missing for a gist.
func (p *program) ghReady(ctx context.Context) error {
	if _, err := exec.LookPath("gh"); err != nil {
		return errors.New("there is no way to share: install gh, GitHub's command, or put a program named share into burin's configuration folder")
	}
	if _, err := p.output(ctx, "gh", "auth", "status"); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return errors.New("gh is not logged in: run gh auth login first")
	}
	return nil
}

func (p *program) shareGist(ctx context.Context, file string) error {
	address, err := p.output(ctx, "gh", "gist", "create", "--public=false", file)
	if err != nil {
		return fmt.Errorf("share with gh: %w", err)
	}
	fmt.Fprintln(p.out, address)
	return nil
}

// killDelay is how long what a killed program has started may hold its output open.
const killDelay = time.Second

// output runs a program and gives the first line that it prints. It is killed when
// ctx ends.
func (p *program) output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = killDelay
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			return "", fmt.Errorf("%w: %s", err, first(printable(said), 300))
		}
	}
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return printable(first(line, 2000)), nil
}

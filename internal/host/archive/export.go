package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/host/words"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/secret"
	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/export"
)

// ExportOptions say what is exported, and where it goes.
type ExportOptions struct {
	Session string
	Format  string    // html, md or json; "": as the name of To says, else html
	To      string    // the file; "": burin-ID.FORMAT in the working directory
	Out     io.Writer // is written to instead, if it is not nil
	Force   bool      // replace a file that is there
	Clear   bool      // do not look for secrets
}

// writer is the function that writes a format, and the format's name.
func (o *ExportOptions) writer() (format string, write func(io.Writer, export.Page) error, err error) {
	format = o.Format
	if format == "" {
		format = strings.ToLower(strings.TrimPrefix(filepath.Ext(o.To), "."))
		if format != "md" && format != "json" {
			format = "html"
		}
	}
	switch format {
	case "html":
		return format, export.HTML, nil
	case "md":
		return format, export.Markdown, nil
	case "json":
		return format, export.JSON, nil
	}
	return "", nil, usagef("--format: %q is not html, md or json", format)
}

// Exported is a session that was exported.
type Exported struct {
	File    string // as the person named it; "" with Out
	Format  string
	Entries int
}

// Export writes a session as a page, a document or JSON. Of a file, it is written whole or
// not at all; a session is never replaced.
func (a *Archive) Export(ctx context.Context, o ExportOptions) (Exported, error) {
	format, write, err := o.writer()
	if err != nil {
		return Exported{}, err
	}
	var to output
	if o.To != "" && o.Out == nil { // before the session is read, which may take long
		if to, err = a.outputFile(o.To, o.Force); err != nil {
			return Exported{}, err
		}
	}
	page, err := a.Page(ctx, o.Session, !o.Clear)
	if err != nil {
		return Exported{}, err
	}
	r := Exported{File: o.To, Format: format, Entries: len(page.Entries)}
	if o.Out != nil {
		r.File = ""
		return r, write(o.Out, page)
	}
	if r.File == "" {
		r.File = "burin-" + filepath.Base(page.Header.ID) + "." + format
		if to, err = a.outputFile(r.File, o.Force); err != nil {
			return Exported{}, err
		}
	}
	return r, to.write(func(w io.Writer) error { return write(w, page) })
}

// Page is a session to export, without secrets if hide is set.
func (a *Archive) Page(ctx context.Context, which string, hide bool) (export.Page, error) {
	file, l, err := a.Open(ctx, which)
	if err != nil {
		return export.Page{}, err
	}
	defer l.Close()
	page := export.Page{Header: l.Header(), Leaf: l.Leaf(), Title: l.Title(), Generated: time.Now(), Version: a.version}
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
		a.warn(fmt.Sprintf("session %s: cannot be read, and left out: %s", words.ShortPath(file), prose.Count(len(gone), "message")))
		leaf := readable(gone, &page.Leaf)
		if page.Leaf = ""; leaf != nil {
			page.Leaf = *leaf
		}
	}
	if !hide {
		return page, nil
	}
	vault, err := a.Vault()
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

// Vault knows the secrets of this machine, as sessions do.
func (a *Archive) Vault() (*secret.Vault, error) {
	entries, err := LoadSecrets(".burin", a.paths.Config)
	if err != nil {
		return nil, err
	}
	// The placeholders are those of the sessions; without the key they are others.
	key, err := smallfile.Read(filepath.Join(a.paths.Data, "placeholder.key"), smallfile.Note)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the key of placeholders: %w", err)
	}
	return secret.New(secret.Options{Env: os.Environ(), Entries: entries, Key: key})
}

// Hide is a text that a person gives a session, without what is secret in it, unless the
// settings say that nothing is hidden.
func (a *Archive) Hide(text string) (string, error) {
	if on := a.settings.Secrets.Enabled; on != nil && !*on {
		return text, nil
	}
	v, err := a.Vault()
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

// LoadSecrets reads secrets.yml of the folders, the most specific first.
func LoadSecrets(dirs ...string) ([]secret.Entry, error) {
	var all []secret.Entry
	for _, dir := range dirs {
		path := filepath.Join(dir, "secrets.yml")
		data, err := smallfile.Read(path, smallfile.Settings)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the secrets: %w", err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		if err := smallfile.CheckNesting(data); err != nil {
			return nil, fmt.Errorf("%s:%w", path, err)
		}
		var entries []secret.Entry
		if err := yaml.UnmarshalWithOptions(data, &entries, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s:%s", path, config.OneLine(err))
		}
		for i, e := range entries {
			if err := e.Validate(); err != nil {
				return nil, fmt.Errorf("%s: entry %d: %w", path, i+1, err)
			}
		}
		all = append(all, entries...)
	}
	return all, nil
}

package file

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/platform/document"
	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

//go:embed read.md
var readDescription string

type readArgs struct {
	Path string `json:"path" jsonschema:"file, folder, archive.zip:member, data.db:table or artifact://id; lines as :10-40 at the end"`
}

// readDetails are for faces.
type readDetails struct {
	Path      string `json:"path"`
	Kind      string `json:"kind"`
	Lines     int    `json:"lines,omitempty"` // shown
	Total     int    `json:"totalLines,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

func (f *files) read() *tool.Tool {
	return tool.New(tool.Definition[readArgs]{
		Name: "read", Label: "Read", Description: readDescription, Strict: true, Effects: tool.Reads,
		Access: func(a readArgs) []tool.Access {
			if isConflict(a.Path) {
				return conflictAccess(f, tool.AccessRead, a.Path)
			}
			if _, _, ok := splitURL(a.Path); ok && !f.Workspace.Mounted(a.Path) {
				address, _, _ := splitSelector(a.Path) // the call fails with what is wrong
				return reads(f, address)
			}
			p, _, err := f.locate(orRoot(strings.TrimPrefix(a.Path, "file://")))
			if err != nil {
				return f.access(tool.AccessRead, a.Path)
			}
			if found, ok := f.only(context.Background(), p.name); ok {
				return f.access(tool.AccessRead, found) // it is what Run reads
			}
			return f.access(tool.AccessRead, p.name)
		},
		Run: func(ctx context.Context, _ tool.Call, a readArgs) (*tool.Result, error) {
			return f.in(ctx).readPath(ctx, orRoot(a.Path))
		},
	})
}

func (f *files) readPath(ctx context.Context, written string) (*tool.Result, error) {
	if isConflict(written) {
		return readConflict(f, written)
	}
	if scheme, _, ok := splitURL(written); ok && (!f.Workspace.Mounted(written) || f.URLs[scheme] != nil && slices.Contains(f.Workspace.Mounts(), written+"/")) {
		return f.readURL(ctx, scheme, written)
	}
	p, sel, err := f.locate(strings.TrimPrefix(written, "file://"))
	if err != nil {
		return nil, err
	}
	if len(sel.spans) == 0 {
		sel.most = f.ReadLines
	}
	if found, ok := f.only(ctx, p.name); ok {
		if name, err := f.Workspace.Resolve(p.name); err == nil && f != f.saved {
			if _, err := f.fs.Stat(name); err == nil { // permission was asked about the other
				return nil, fmt.Errorf("%s is open and not saved, and there is %s: ask for it to be saved first", p.name, found)
			}
		}
		words := fmt.Sprintf("[%s does not exist; this is %s.]\n", p.name, found)
		p.name = found
		r, err := f.readPlace(ctx, p, sel)
		if r != nil {
			r.Content = append([]llm.Block{llm.Text{Text: words}}, r.Content...)
		}
		return r, err
	}
	return f.readPlace(ctx, p, sel)
}

// readPlace shows what is at a place of the workspace.
func (f *files) readPlace(ctx context.Context, p place, sel selection) (*tool.Result, error) {
	name, err := f.Workspace.Resolve(p.name)
	if err != nil {
		return nil, err
	}
	info, err := f.fs.Stat(name)
	switch {
	case err != nil:
		return nil, f.missing(ctx, p.name, err)
	case info.IsDir():
		return f.list(ctx, name, 2)
	case p.inside != "" && p.kind == document.SQLite:
		return f.query(ctx, name, p.inside)
	case p.kind == document.Archive:
		return f.readArchive(ctx, name, p.inside, sel)
	}
	return f.readFile(ctx, name, info, sel)
}

// readFile shows a file of any kind.
func (f *files) readFile(ctx context.Context, name string, info fs.FileInfo, sel selection) (*tool.Result, error) {
	if info.Size() > workspace.MaxFile {
		return f.readLarge(ctx, name, info, sel)
	}
	file, err := f.Workspace.Read(name)
	if err != nil {
		return nil, err
	}
	kind := document.Detect(name, file.Data[:min(len(file.Data), 512)])
	switch {
	case kind == document.Image:
		return f.image(name, file.Data)
	case kind == document.SQLite:
		return f.query(ctx, name, "")
	case kind == document.Archive:
		return f.readArchive(ctx, name, "", sel)
	case kind == document.Binary:
		return nil, fmt.Errorf("%s is a binary file (%s) that cannot be shown as text", name, size(info.Size()))
	case kind == document.Notebook && !sel.raw:
		text, err := document.NotebookText(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; read it with :raw", name, err)
		}
		if f.Engine.Name() == "hashline" {
			f.Learn(text)
			return f.tagged(name, []byte(text), text, sel), nil
		}
		return f.text(name, string(kind), text, sel), nil
	case kind == document.Text || kind == document.Notebook:
		text, _, err := document.Decode(file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		f.Learn(text)
		found := f.regions.register(name, file.Data)
		if sel.conflicts {
			return listConflicts(name, found), nil
		}
		r := outlined(name, text, sel)
		switch {
		case r != nil:
		case f.Engine.Name() == "hashline" && !sel.raw:
			r = f.tagged(name, file.Data, text, sel)
		default:
			r = f.text(name, string(kind), text, sel)
		}
		return withConflicts(r, found), nil
	}
	text, err := document.Extract(ctx, kind, bytes.NewReader(file.Data), int64(len(file.Data)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f.text(name, string(kind), text, sel), nil
}

// text is the result for a text.
func (f *files) text(name, kind, text string, sel selection) *tool.Result {
	if kind != string(document.Text) { // of which readFile has told
		f.Learn(text)
	}
	v := show(text, sel)
	return tool.Text(v.text.String() + v.notice()).WithDetails(readDetails{
		Path: name, Kind: kind, Lines: v.lines, Total: v.total, Truncated: v.next > 0 || v.cut > 0,
	})
}

// tagged shows a text with the line hashes of the hashline engine.
func (f *files) tagged(name string, data []byte, text string, sel selection) *tool.Result {
	v := show(text, sel)
	var b strings.Builder
	for i, s := range v.shown {
		if i > 0 {
			b.WriteString("…\n")
		}
		b.WriteString(edit.Tagged(name, data, s.from, s.to))
	}
	return tool.Text(b.String() + v.notice()).WithDetails(readDetails{
		Path: name, Kind: string(document.Text), Lines: v.lines, Total: v.total, Truncated: v.next > 0,
	})
}

func (f *files) image(name string, data []byte) (*tool.Result, error) {
	pic, err := document.FitImage(data, f.Images)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	words := fmt.Sprintf("%s: %s, %d×%d pixels", name, pic.MIME, pic.Width, pic.Height)
	if pic.Resized {
		words += ", made smaller to be shown"
	}
	r := &tool.Result{Content: []llm.Block{llm.Text{Text: words}, llm.Image{MIME: pic.MIME, Data: pic.Data}}}
	return r.WithDetails(readDetails{Path: name, Kind: string(document.Image)}), nil
}

func (f *files) query(ctx context.Context, name, selector string) (*tool.Result, error) {
	real := f.Workspace.Real(name)
	if real == "" {
		return nil, notOnDisk(name)
	}
	text, err := document.Query(ctx, real, selector)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f.fit(text).WithDetails(readDetails{Path: name, Kind: string(document.SQLite)}), nil
}

// notOnDisk is the error of a database that no library can open.
func notOnDisk(name string) error {
	return fmt.Errorf("%s is a database: it can be used only where it is a file on disk, and this workspace has none", name)
}

// fit is the result for a text that has no lines to continue from.
func (f *files) fit(text string) *tool.Result {
	out := tool.Fit(text, tool.SinkOptions{Head: maxBytes * 2 / 3, Tail: maxBytes / 3, Artifacts: f.Artifacts, Kind: "read"})
	shown, notice := out.Text, out.Notice()
	if notice != "" && !strings.HasSuffix(shown, "\n") {
		shown += "\n"
	}
	return tool.Text(shown + notice)
}

func (f *files) readArchive(ctx context.Context, name, member string, sel selection) (*tool.Result, error) {
	file, err := f.fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	at, ok := file.(io.ReaderAt)
	if !ok {
		return nil, fmt.Errorf("%s cannot be read at random", name)
	}
	archive, err := document.OpenArchive(name, at, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	member = strings.Trim(path.Clean("/"+member), "/")
	if listing, ok := members(archive, member); ok {
		return f.fit(listing).WithDetails(readDetails{Path: name, Kind: string(document.Archive)}), nil
	}
	data, err := archive.ReadFile(member)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	full := name + ":" + member
	switch kind := document.Detect(member, data[:min(len(data), 512)]); kind {
	case document.Image:
		return f.image(full, data)
	case document.Text, document.Notebook:
		text, _, err := document.Decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", full, err)
		}
		f.Learn(text)
		return f.text(full, string(kind), text, sel), nil
	case document.Binary, document.SQLite, document.Archive:
		return nil, fmt.Errorf("%s is a %s entry (%s) that cannot be shown as text", full, kind, size(int64(len(data))))
	default:
		text, err := document.Extract(ctx, kind, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", full, err)
		}
		return f.text(full, string(kind), text, sel), nil
	}
}

// maxMembers is how many entries of an archive are listed.
const maxMembers = 500

// members lists a folder of an archive; ok is false if folder is a file in it.
func members(a *document.ArchiveFile, folder string) (string, bool) {
	var b strings.Builder
	n := 0
	for _, m := range a.Members() {
		if m.Name == folder && !m.Dir {
			return "", false
		}
		if folder != "" && !strings.HasPrefix(m.Name, folder+"/") {
			continue
		}
		if n++; n > maxMembers {
			continue
		}
		if m.Dir {
			fmt.Fprintf(&b, "%s/\n", strings.TrimSuffix(m.Name, "/"))
		} else {
			fmt.Fprintf(&b, "%s  %s\n", m.Name, size(m.Size))
		}
	}
	if n == 0 && folder != "" {
		return "", false // not there: reading it says so
	}
	if n > maxMembers {
		fmt.Fprintf(&b, "[%d of %d entries shown.]", maxMembers, n)
	}
	return b.String(), true
}

// readURL shows what another part of the program holds.
func (f *files) readURL(ctx context.Context, scheme, url string) (*tool.Result, error) {
	base, sel, err := splitSelector(url)
	if err != nil {
		return nil, err
	}
	if scheme == "artifact" {
		return f.artifact(strings.TrimPrefix(base, "artifact://"), sel)
	}
	text, err := behind(ctx, f, scheme, base)
	if err != nil {
		return nil, err
	}
	if sel.spans == nil {
		sel.raw = true // nothing is edited by line there
	}
	return f.text(base, scheme, text, sel), nil
}

// behind is the text behind an address.
func behind(ctx context.Context, f *files, scheme, address string) (string, error) {
	if scheme == "artifact" {
		text, _, err := output(f, strings.TrimPrefix(address, "artifact://"))
		return text, err
	}
	open, ok := f.URLs[scheme]
	if !ok {
		return "", unknown(address, scheme)
	}
	if err := refusesSecret(f, scheme, address); err != nil {
		return "", err
	}
	return open(ctx, address)
}

// unknown is the error for an address that nothing is known of.
func unknown(url, scheme string) error {
	return fmt.Errorf("%s: unknown scheme %s://%s", url, scheme, webHint(scheme))
}

func webHint(scheme string) string {
	if scheme == "http" || scheme == "https" {
		return "; use fetch"
	}
	return ""
}

func (f *files) artifact(id string, sel selection) (*tool.Result, error) {
	text, whole, err := output(f, id)
	if err != nil {
		return nil, err
	}
	res := f.text("artifact://"+id, "artifact", text, sel)
	if whole > maxArtifact {
		res.Content = append(res.Content, llm.Text{Text: fmt.Sprintf("[Only the first %s of %s can be read this way.]", size(maxArtifact), size(whole))})
	}
	return res, nil
}

// output is the text of an artifact, as far as it can be read, and the size of the whole.
func output(f *files, id string) (text string, whole int64, err error) {
	if f.Artifacts == nil {
		return "", 0, errors.New("no output was kept: this run has no artifacts")
	}
	if strings.Trim(id, "0123456789") != "" || id == "" {
		return "", 0, fmt.Errorf("artifact://%s: the id is a number", id)
	}
	r, err := f.Artifacts.Open(id)
	if err != nil {
		return "", 0, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxArtifact))
	if err != nil {
		return "", 0, fmt.Errorf("artifact://%s: %w", id, err)
	}
	return string(data), r.Size(), nil
}

// maxArtifact is how much of an artifact can be paged through.
const maxArtifact = 64 << 20

var _ edit.Source = source{}

// source is where edit engines read: paths as the model writes them.
type source struct {
	w     *workspace.Workspace
	learn func(text string)
}

func (s source) ReadFile(written string) ([]byte, error) {
	name, err := s.w.Resolve(written)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(s.w.Files(), name)
	if err == nil {
		s.learn(string(data[:min(len(data), maxLearn)])) // the diff shows lines of it
	}
	return data, err
}

// maxLearn is how many bytes of a file that is not read to be shown are told to Learn.
const maxLearn = 256 << 10

package foreign

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

const (
	maxConversation = 128 << 20 // bytes of one conversation of an export; a longer one ends the file
	maxFiles        = 200_000   // files of an export whose names are kept
)

// export is a data export: its conversations and the files that come with them.
type export struct {
	label string
	files fs.FS
	parts []string // files that hold conversations
	names []string // other files, in the order of their base names
	close func()
}

// partName is the name of a file of conversations; large exports have several.
var partName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^conversations(-\d+)?\.json$`) })

func openArchive(at string) (*export, error) {
	z, err := zip.OpenReader(at)
	if err != nil {
		return nil, fmt.Errorf("import %s: %w", prose.Plain(at, maxPath), err)
	}
	x := &export{label: at, files: z, close: func() { _ = z.Close() }} // it was only read
	for _, f := range z.File {
		if fs.ValidPath(f.Name) && !f.FileInfo().IsDir() {
			x.file(f.Name)
		}
	}
	if x.sort(); len(x.parts) == 0 {
		x.close()
		return nil, unknown(at)
	}
	return x, nil
}

// openFolder opens an unpacked export. One without conversations has no parts and
// needs no closing.
func openFolder(at string) (*export, error) {
	entries, err := os.ReadDir(at)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	if !slices.ContainsFunc(entries, func(d fs.DirEntry) bool { return partName().MatchString(d.Name()) }) {
		return &export{}, nil
	}
	dir, err := os.OpenRoot(at) // links in it lead nowhere else
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	x := &export{label: at, files: dir.FS(), close: func() { _ = dir.Close() }} // it was only read
	err = fs.WalkDir(x.files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			x.file(name)
		}
		return nil // what cannot be listed counts as not there
	})
	x.sort()
	return x, err
}

func (x *export) file(name string) {
	switch {
	case partName().MatchString(path.Base(name)):
		x.parts = append(x.parts, name)
	case len(x.names) < maxFiles:
		x.names = append(x.names, name)
	}
}

func (x *export) sort() {
	slices.Sort(x.parts)
	slices.SortFunc(x.names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
}

// media is the file of that id as a block; false if it is not in the export. Files
// are named after their ids, with more behind it.
func (x *export) media(t *tree, id string) (llm.Block, bool) {
	if x == nil || len(id) < 6 {
		return nil, false
	}
	at, _ := slices.BinarySearchFunc(x.names, id, func(name, id string) int { return strings.Compare(path.Base(name), id) })
	for ; at < len(x.names); at++ {
		rest, ok := strings.CutPrefix(path.Base(x.names[at]), id)
		if !ok {
			return nil, false
		}
		if rest == "" || strings.ContainsRune("-_.", rune(rest[0])) {
			break
		}
	}
	if at == len(x.names) {
		return nil, false
	}
	file, err := x.files.Open(x.names[at])
	if err != nil {
		return nil, false
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, maxMedia+1))
	switch {
	case err != nil:
		t.lose(1, "damaged files", "they are in the export and cannot be read")
		return llm.Text{Text: fileMissing}, true
	case len(raw) > maxMedia:
		t.lose(1, "large files", "one is larger than 32 MB")
		return llm.Text{Text: fileMissing}, true
	}
	return t.media("", raw, path.Base(x.names[at])), true
}

// detectArchive tells whose export an archive is.
func detectArchive(at string) (Format, error) {
	x, err := openArchive(at)
	if err != nil {
		return "", err
	}
	defer x.close()
	for _, part := range x.parts {
		if f := x.sniff(part); f != "" {
			return f, nil
		}
	}
	return "", unknown(at)
}

func (x *export) sniff(part string) Format {
	file, err := x.files.Open(part)
	if err != nil {
		return ""
	}
	defer file.Close()
	return sniff(file)
}

// export imports all conversations of an export.
func (in *importer) export(ctx context.Context, x *export, f Format) {
	for _, part := range x.parts {
		if in.stopped {
			return
		}
		label := x.label + "/" + part
		format := f
		if format == "" {
			format = x.sniff(part)
		}
		file, err := x.files.Open(part)
		if err != nil {
			in.fail(fmt.Errorf("import %s: %w", label, err))
			continue
		}
		in.conversations(ctx, file, label, format, x)
		_ = file.Close() // it was only read
	}
}

// exportFile imports a file of conversations that lies by itself.
func (in *importer) exportFile(ctx context.Context, at string, f Format) {
	file, err := os.Open(at)
	if err != nil {
		in.fail(fmt.Errorf("import: %w", err))
		return
	}
	defer file.Close()
	in.conversations(ctx, file, at, f, nil)
}

// conversations imports a list of conversations, or a single one.
func (in *importer) conversations(ctx context.Context, r io.Reader, label string, f Format, x *export) {
	var err error
	switch f {
	case ChatGPT:
		err = eachOf(ctx, r, func(i int, c *gptConversation) bool {
			return in.give(ctx, c.session(place(label, i), x))
		}, in.skipped(label))
	case ClaudeAI:
		err = eachOf(ctx, r, func(i int, c *claudeChat) bool {
			return in.give(ctx, c.session(place(label, i), x))
		}, in.skipped(label))
	case OpenWebUI:
		err = eachOf(ctx, r, func(i int, c *webuiChat) bool {
			return in.give(ctx, c.session(place(label, i)))
		}, in.skipped(label))
	default:
		err = unknown(label)
	}
	if err != nil {
		in.fail(fmt.Errorf("import %s: %w", prose.Plain(label, maxPath), err))
	}
}

func place(label string, i int) string {
	if i < 0 {
		return label
	}
	return fmt.Sprintf("%s, conversation %d", label, i+1)
}

// skipped hands over that a conversation could not be read.
func (in *importer) skipped(label string) func(i int, err error) bool {
	return func(i int, err error) bool {
		return in.fail(fmt.Errorf("import %s: %w", prose.Plain(place(label, i), maxPath), err))
	}
}

// mistakes lets a conversation know that fields of it were left empty.
type mistakes interface{ mistyped(err error) }

// conversation is a type that conversations are decoded into.
type conversation[T any] interface {
	*T
	mistakes
}

// eachOf reads the elements of a list one by one, or the value that there is
// instead of a list, which has the index -1. Elements that cannot be read go to
// skip. The error says where the text is no longer JSON.
func eachOf[T any, P conversation[T]](ctx context.Context, r io.Reader, each func(i int, v P) bool, skip func(i int, err error) bool) error {
	limit := &budget{r: r, left: maxConversation}
	br := bufio.NewReaderSize(limit, 256<<10)
	first, err := firstByte(br)
	if err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	dec := json.NewDecoder(br)
	next := func(i int) (bool, error) {
		limit.left = maxConversation
		v, wrong, err := decodeNext[T, P](dec)
		switch {
		case err != nil:
			return false, fmt.Errorf("%s; what came before it was read: %w", place("the text", i), err)
		case wrong != nil:
			return skip(i, wrong), nil
		}
		return each(i, v), nil
	}
	if first != '[' {
		_, err := next(-1)
		return err
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	for i := 0; dec.More(); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := next(i); err != nil || !more {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the list does not end; all in it was read: %w", err)
	}
	return nil
}

// decodeNext reads a conversation. wrong means that the value is not one, err that
// nothing more can be read.
func decodeNext[T any, P conversation[T]](dec *json.Decoder) (v P, wrong, err error) {
	v = P(new(T))
	err = dec.Decode(&v)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil && v == nil:
		return nil, errors.New("it is null, not a conversation"), nil
	case errors.As(err, &kind) && kind.Field == "":
		return nil, fmt.Errorf("it is a JSON %s, not a conversation", kind.Value), nil
	case errors.As(err, &kind):
		v.mistyped(fmt.Errorf("%s is a JSON %s", kind.Field, kind.Value))
		return v, nil, nil
	}
	return v, nil, err
}

// budget ends a reader when one conversation is too large.
type budget struct {
	r    io.Reader
	left int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("a conversation is larger than %d MB", maxConversation>>20)
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

// firstByte returns the first byte that is no white space, and goes over a byte
// order mark.
func firstByte(br *bufio.Reader) (byte, error) {
	if mark, _ := br.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = br.Discard(3) // they are there
	}
	for {
		c, err := br.ReadByte()
		if err != nil {
			return 0, err
		}
		if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, br.UnreadByte()
		}
	}
}

package kit

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
)

//go:embed memory.md
var memoryDescription string

// memories is the folder of the notes.
const memories = "/memories"

type memoryArgs struct {
	Command    string  `json:"command"`
	Path       string  `json:"path,omitempty" jsonschema:"of a note or folder, such as /memories/README.md"`
	FileText   *string `json:"file_text,omitempty" jsonschema:"of create and append: the text"`
	OldStr     *string `json:"old_str,omitempty" jsonschema:"of str_replace: exact, and only once in the note"`
	NewStr     *string `json:"new_str,omitempty" jsonschema:"of str_replace; left out, old_str is removed"`
	InsertLine *int    `json:"insert_line,omitempty" jsonschema:"of insert: the line after which; 0 is before the first"`
	InsertText *string `json:"insert_text,omitempty" jsonschema:"of insert"`
	OldPath    string  `json:"old_path,omitempty" jsonschema:"of rename"`
	NewPath    string  `json:"new_path,omitempty" jsonschema:"of rename"`
	ViewRange  []int   `json:"view_range,omitempty" jsonschema:"of view: first and last line; -1 is the end"`
}

// newMemory makes the tool. Its commands and answers are those of Anthropic's memory tool, which their
// models know, with mkdir and append.
func newMemory(n *notes) *tool.Tool {
	return tool.New(tool.Definition[memoryArgs]{
		Name: "memory", Label: "Memory", Description: strings.TrimSpace(memoryDescription), Effects: tool.Reads | tool.Writes,
		Adjust: func(s *tool.Schema) {
			tool.Property(s, "command").Enum = []any{"view", "create", "str_replace", "insert", "delete", "rename", "mkdir", "append"}
		},
		Access: func(a memoryArgs) (all []tool.Access) {
			kind := tool.AccessWrite
			if a.Command == "view" {
				kind = tool.AccessRead
			}
			for _, p := range []string{a.Path, a.OldPath, a.NewPath} {
				if p != "" {
					all = append(all, tool.Access{Kind: kind, Target: strings.TrimPrefix(notePath(p), "/")})
				}
			}
			return all
		},
		Together: func(a memoryArgs) bool { return a.Command == "view" },
		Run: func(ctx context.Context, _ tool.Call, a memoryArgs) (*tool.Result, error) {
			said, err := n.run(ctx, a)
			var wrong wrongInput
			switch {
			case errors.As(err, &wrong):
				return tool.Failure(string(wrong)), nil
			case err != nil:
				return nil, err
			}
			return tool.Text(said), nil
		},
	})
}

// nativeMemory has the tool go out under Anthropic's name where that is known. A project that puts its
// notes into the system prompt has the description of our own, which fits that.
func nativeMemory(_ context.Context, _ string, r *llm.Request) error {
	for i := range r.Tools {
		if r.Tools[i].Name == "memory" {
			r.Tools[i].Native = llm.NativeMemory
		}
	}
	return nil
}

// wrongInput is what the model reads of a call that can't be done.
type wrongInput string

func (e wrongInput) Error() string { return string(e) }

func wrongf(format string, args ...any) error { return wrongInput(fmt.Sprintf(format, args...)) }

// notes are the memory of a project.
type notes struct{ tree *vfs.Tree }

// notePath is where a note is that a model names: in the folder of the notes, whatever it writes.
func notePath(written string) string {
	p := path.Clean("/" + strings.TrimSpace(written))
	if rest, ok := strings.CutPrefix(p, memories); ok && (rest == "" || rest[0] == '/') {
		p = path.Clean("/" + rest)
	}
	return path.Join(memories, p)
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (n *notes) run(ctx context.Context, a memoryArgs) (string, error) {
	at := notePath(a.Path)
	switch a.Command {
	case "view":
		return n.view(ctx, at, a.ViewRange)
	case "create":
		return n.create(ctx, at, a)
	case "str_replace":
		return n.replace(ctx, at, a)
	case "insert":
		return n.insert(ctx, at, a)
	case "delete":
		return n.remove(ctx, at)
	case "rename":
		return n.rename(ctx, notePath(a.OldPath), notePath(a.NewPath), a)
	case "mkdir":
		return n.mkdir(ctx, at)
	case "append":
		return n.add(ctx, at, a)
	}
	return "", wrongf("Unknown memory command: %s", a.Command)
}

// maxLines is the most lines of a note that are shown.
const maxLines = 999_999

func (n *notes) view(ctx context.Context, at string, lines []int) (string, error) {
	info, err := n.tree.Stat(ctx, at)
	switch {
	case errors.Is(err, fs.ErrNotExist) && at == memories, err == nil && info.Dir:
		listed, err := n.list(ctx, at)
		return "Here're the files and directories up to 2 levels deep in " + at + ", excluding hidden items and node_modules:\n" + listed, err
	case errors.Is(err, fs.ErrNotExist):
		return "", wrongf("The path %s does not exist. Please provide a valid path.", at)
	case err != nil:
		return "", err
	}
	data, _, err := n.tree.Read(ctx, at)
	if err != nil {
		return "", err
	}
	if !isText(data) {
		return "", wrongf("Error: %s is not text (%s)", at, info.MIME)
	}
	all := linesOf(string(data))
	if len(all) > maxLines {
		return "", wrongf("File %s exceeds maximum line limit of %d lines.", at, maxLines)
	}
	from, to := 1, len(all)
	if lines != nil {
		if len(lines) == 2 {
			from, to = lines[0], lines[1]
		}
		if to == -1 {
			to = len(all)
		}
		if len(lines) != 2 || from < 1 || from > max(1, len(all)) || to < from {
			return "", wrongf("Error: Invalid `view_range` parameter: %v. It should be two numbers, the first within the range of lines of the file: [1, %d], the last not below it, or -1", lines, len(all))
		}
	}
	return "Here's the content of " + at + " with line numbers:\n" + numbered(all, from, min(to, len(all))), nil
}

func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// linesOf are the lines of a text; the end of the last one begins no further one.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// numbered shows lines, counted from 1.
func numbered(all []string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%6d\t%s", i, all[i-1])
	}
	return b.String()
}

// list lists two levels of a folder.
func (n *notes) list(ctx context.Context, at string) (string, error) {
	all, err := n.shallow(ctx, at)
	if err != nil || len(all) == 0 {
		return "(empty)", err
	}
	var b strings.Builder
	for i, info := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(sizeOf(info) + "\t" + info.Path)
	}
	return b.String(), nil
}

// shallow are the files and folders of two levels, without hidden ones.
func (n *notes) shallow(ctx context.Context, at string) ([]vfs.Info, error) {
	all, err := n.tree.Walk(ctx, at, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(i vfs.Info) bool {
		parts := strings.Split(strings.TrimPrefix(i.Path, at+"/"), "/")
		return len(parts) > 2 || slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, ".") || p == "node_modules" })
	}), err
}

func sizeOf(i vfs.Info) string {
	switch {
	case i.Dir:
		return "0"
	case i.Size < 1<<10:
		return fmt.Sprint(i.Size)
	case i.Size < 1<<20:
		return fmt.Sprintf("%.1fK", float64(i.Size)/(1<<10))
	}
	return fmt.Sprintf("%.1fM", float64(i.Size)/(1<<20))
}

func (n *notes) create(ctx context.Context, at string, a memoryArgs) (string, error) {
	if at == memories {
		return "", wrongf("Error: Cannot create a file at the root path.")
	}
	if a.FileText == nil {
		return "", wrongf("Error: create needs file_text")
	}
	_, err := n.tree.Write(ctx, at, []byte(*a.FileText), vfs.Missing)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, vfs.NotFile) {
		return "", wrongf("Error: File %s already exists", at)
	}
	return "File created successfully at: " + at, err
}

func (n *notes) replace(ctx context.Context, at string, a memoryArgs) (string, error) {
	before, after := text(a.OldStr), text(a.NewStr)
	if before == "" {
		return "", wrongf("Error: str_replace needs old_str, the text to replace")
	}
	var snippet string
	err := n.edit(ctx, at, "Error: The path %s does not exist. Please provide a valid path.", func(old string) (string, error) {
		switch strings.Count(old, before) {
		case 0:
			return "", wrongf("No replacement was performed, old_str `%s` did not appear verbatim in %s.", before, at)
		case 1:
		default:
			return "", wrongf("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique", before, places(old, before))
		}
		i := strings.Index(old, before)
		now := old[:i] + after + old[i+len(before):]
		all := linesOf(now)
		first := strings.Count(old[:i], "\n") + 1
		last := first + strings.Count(after, "\n")
		const around = 3
		snippet = numbered(all, max(1, min(first-around, len(all))), min(len(all), last+around))
		return now, nil
	})
	return "The memory file has been edited.\n" + snippet, err
}

// places are the lines in which a text begins.
func places(in, what string) string {
	var lines []string
	for from := 0; ; {
		i := strings.Index(in[from:], what)
		if i < 0 {
			return strings.Join(lines, ", ")
		}
		if line := fmt.Sprint(strings.Count(in[:from+i], "\n") + 1); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		from += i + len(what)
	}
}

func (n *notes) insert(ctx context.Context, at string, a memoryArgs) (string, error) {
	if a.InsertLine == nil || a.InsertText == nil {
		return "", wrongf("Error: insert needs insert_line and insert_text")
	}
	line := *a.InsertLine
	err := n.edit(ctx, at, "Error: The path %s does not exist", func(old string) (string, error) {
		all := linesOf(old)
		if line < 0 || line > len(all) {
			return "", wrongf("Error: Invalid `insert_line` parameter: %d. It should be within the range of lines of the file: [0, %d]", line, len(all))
		}
		now := strings.Join(slices.Insert(all, line, strings.TrimSuffix(*a.InsertText, "\n")), "\n")
		if old == "" || strings.HasSuffix(old, "\n") {
			now += "\n"
		}
		return now, nil
	})
	return "The file " + at + " has been edited.", err
}

// edit changes a text with nobody else's change in between.
func (n *notes) edit(ctx context.Context, at, missing string, change func(old string) (string, error)) error {
	_, err := n.tree.Edit(ctx, at, func(old []byte) ([]byte, error) {
		if !isText(old) {
			return nil, wrongf("Error: %s is not text", at)
		}
		now, err := change(string(old))
		return []byte(now), err
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, vfs.NotFile) {
		return wrongf(missing, at)
	}
	return err
}

func (n *notes) remove(ctx context.Context, at string) (string, error) {
	if at == memories {
		return "", wrongf("Error: Cannot delete the root path.")
	}
	if _, err := n.tree.Stat(ctx, at); errors.Is(err, fs.ErrNotExist) {
		return "", wrongf("Error: The path %s does not exist", at)
	}
	return "Successfully deleted " + at, n.tree.Remove(ctx, at, true)
}

func (n *notes) rename(ctx context.Context, from, to string, a memoryArgs) (string, error) {
	switch {
	case a.OldPath == "" || a.NewPath == "":
		return "", wrongf("Error: rename needs old_path and new_path")
	case from == memories || to == memories:
		return "", wrongf("Error: Cannot rename the root path.")
	}
	err := n.tree.Rename(ctx, from, to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", wrongf("Error: The path %s does not exist", from)
	case errors.Is(err, vfs.DestinationExists):
		return "", wrongf("Error: The destination %s already exists", to)
	case errors.Is(err, fs.ErrInvalid):
		return "", wrongf("Error: %s can't be moved into itself", from)
	}
	return "Successfully renamed " + from + " to " + to, err
}

func (n *notes) mkdir(ctx context.Context, at string) (string, error) {
	if at == memories {
		return "", wrongf("Error: Cannot create directory at the root path.")
	}
	err := n.tree.Mkdir(ctx, at)
	switch {
	case errors.Is(err, vfs.DirExists):
		return "", wrongf("Error: Directory %s already exists", at)
	case errors.Is(err, vfs.FileExists):
		return "", wrongf("Error: A file already exists at %s", at)
	}
	return "Directory created successfully at: " + at, err
}

func (n *notes) add(ctx context.Context, at string, a memoryArgs) (string, error) {
	switch {
	case at == memories:
		return "", wrongf("Error: Cannot append to the root path.")
	case a.FileText == nil:
		return "", wrongf("Error: append needs file_text")
	}
	info, err := n.tree.Append(ctx, at, []byte(*a.FileText))
	switch {
	case errors.Is(err, vfs.NotFile):
		return "", wrongf("Error: %s is a directory, not a file.", at)
	case err == nil && info.Version == 1:
		return "File created successfully at: " + at, nil
	}
	return "Content appended to " + at, err
}

// maxReadme is how many bytes of README.md the system prompt has.
const maxReadme = 32_000

// listing puts what is noted into the system prompt. It stays as it is while a message is answered, so that
// what the model notes meanwhile doesn't cost the provider's cache.
type listing struct {
	*notes

	mu   sync.Mutex
	last string // which message it was made for
	text string
}

// add implements a [session.RequestInterceptor].
func (l *listing) add(ctx context.Context, purpose string, r *llm.Request) error {
	if purpose != session.ForTurn && purpose != session.ForRetry {
		return nil
	}
	_, last := spokenIn(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" || last != l.last {
		section, err := l.section(ctx)
		if err != nil {
			return err
		}
		l.text, l.last = section, last
	}
	r.System += "\n\n" + l.text
	return nil
}

func (n *notes) section(ctx context.Context) (string, error) {
	var b strings.Builder
	b.WriteString("## Memory\n\nThe memory tool keeps notes in /memories for all conversations of this project. What you note now stands here with the next message of the user. Keep an index of the notes in README.md, and note what will matter later.\n\n### Files\n\n")
	all, err := n.shallow(ctx, memories)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		b.WriteString("The /memories directory is empty.")
		return b.String(), nil
	}
	b.WriteString("<listing>\n")
	for _, i := range all {
		b.WriteString("\t" + i.Path + "\n")
	}
	b.WriteString("</listing>")
	data, _, err := n.tree.Read(ctx, memories+"/README.md")
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, vfs.NotFile), err == nil && !isText(data):
		return b.String(), nil
	case err != nil:
		return "", err
	}
	lines := linesOf(string(data))
	size, shown := 0, 0
	for shown < len(lines) && size+len(lines[shown])+1 <= maxReadme {
		size += len(lines[shown]) + 1
		shown++
	}
	b.WriteString("\n\n## /memories/README.md\n\n<content>\n" + strings.Join(lines[:shown], "\n") + "\n</content>")
	if shown < len(lines) {
		fmt.Fprintf(&b, "\n[Content truncated: showing lines 1-%d of %d total. Use the memory tool's view command with view_range to see more.]", shown, len(lines))
	}
	return b.String(), nil
}

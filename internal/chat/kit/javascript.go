package kit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/internal/platform/script"
	"github.com/burin-dev/burin/tool"
)

//go:embed javascript.md
var javascriptDescription string

// Engine runs the programs of models.
type Engine = script.Engine

// NewEngine makes the engine of a server, which runs four programs at a time.
func NewEngine() *Engine { return script.New(4) }

// libraries is the folder of the files that run before each program.
const libraries = "/lib"

type javascriptArgs struct {
	Code string `json:"code" jsonschema:"the body of an async function: return gives the result, await works"`
}

// newJavaScript makes the tool that runs programs. They work on the files as the other tools see them.
func newJavaScript(engine *Engine, tree *vfs.Tree, o *project.JavaScriptTool, readOnly bool) *tool.Tool {
	effects, access, can := tool.Reads|tool.Writes, tool.AccessWrite, "read and change"
	if readOnly {
		effects, access, can = tool.Reads, tool.AccessRead, "read"
	}
	return tool.New(tool.Definition[javascriptArgs]{
		Name: "javascript", Label: "JavaScript", Effects: effects,
		Description: strings.ReplaceAll(strings.TrimSpace(javascriptDescription), "{can}", can),
		Access: func(javascriptArgs) []tool.Access {
			return []tool.Access{{Kind: access, Target: inWorkspace("/")}} // what a program will do can't be told beforehand
		},
		Together: func(javascriptArgs) bool { return readOnly },
		Run: func(ctx context.Context, _ tool.Call, a javascriptArgs) (*tool.Result, error) {
			p := script.Program{Code: a.Code, Files: desk{tree, readOnly}.do}
			if !o.NoLibrary {
				var err error
				if p.Libraries, err = readLibraries(ctx, tree); err != nil {
					return nil, err
				}
			}
			out, err := engine.Run(ctx, p)
			if err != nil {
				return nil, err
			}
			if out.Failed {
				return tool.Failure(outcome(out)), nil
			}
			return tool.Text(outcome(out)), nil
		},
	})
}

// readLibraries reads what runs before a program. Files in folders below aren't among it.
func readLibraries(ctx context.Context, tree *vfs.Tree) (all []script.Library, err error) {
	listed, err := tree.List(ctx, libraries, false) // in the order of their names
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range listed {
		if f.Dir || path.Ext(f.Path) != ".js" {
			continue
		}
		code, _, err := tree.Read(ctx, f.Path)
		if err != nil {
			return nil, fmt.Errorf("read the library %s: %w", f.Path, err)
		}
		all = append(all, script.Library{Name: f.Name(), Code: string(code)})
	}
	return all, err
}

// outcome is what the model reads: what was printed, by the libraries first, and the result.
func outcome(o *script.Outcome) string {
	var b strings.Builder
	section := ""
	for _, l := range o.Printed {
		head := "=== Console output ==="
		if l.Library != "" {
			head = "=== Output of library " + l.Library + " ==="
		}
		if head != section {
			section = head
			b.WriteString(head + "\n")
		}
		if l.Library == "" {
			b.WriteString("[" + l.Level + "] ")
		}
		b.WriteString(l.Text + "\n")
	}
	if o.Dropped > 0 {
		fmt.Fprintf(&b, "[%d more bytes, which aren't shown: the limit is %d]\n", o.Dropped, script.MaxOutput)
	}
	if b.Len() > 0 {
		b.WriteString("=== Result ===\n")
	}
	return b.String() + o.Result
}

// desk does what a program asks of fs.
type desk struct {
	tree     *vfs.Tree
	readOnly bool
}

func (d desk) do(ctx context.Context, c script.FileCall) (answer script.FileAnswer, err error) {
	at := vfs.Clean(c.Path)
	switch c.Op {
	case "read":
		answer.Data, _, err = d.tree.Read(ctx, at)
	case "exists":
		_, err = d.tree.Stat(ctx, at)
		answer.Exists = err == nil
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	case "readdir":
		var listed []vfs.Info
		listed, err = d.tree.List(ctx, at, false)
		for _, f := range listed {
			answer.Names = append(answer.Names, f.Name())
		}
	case "stat":
		answer.Stat, err = d.stat(ctx, at)
	default:
		err = d.change(ctx, at, c)
	}
	return answer, fileError(c, err)
}

func (d desk) stat(ctx context.Context, at string) (*script.Stat, error) {
	f, err := d.tree.Stat(ctx, at)
	if err != nil {
		return nil, err
	}
	s := &script.Stat{Dir: f.Dir, Size: f.Size, ReadOnly: d.readOnly || !d.tree.Writable(at), Modified: f.Modified.UnixMilli(), MIME: f.MIME}
	if !f.Dir {
		text := strings.HasPrefix(f.MIME, "text/") || f.MIME == "application/json" || f.MIME == "image/svg+xml"
		s.Binary = !text
		if text && f.Size <= vfs.MaxFile {
			data, _, err := d.tree.Read(ctx, at)
			s.Binary = err == nil && !utf8.Valid(data)
		}
	}
	return s, nil
}

// change makes a change. Folders above come with what is written.
func (d desk) change(ctx context.Context, at string, c script.FileCall) error {
	if d.readOnly {
		return vfs.ReadOnly
	}
	switch c.Op {
	case "write":
		_, err := d.tree.Write(ctx, at, c.Data, vfs.Anything)
		return err
	case "mkdir":
		return d.tree.Mkdir(ctx, at)
	case "unlink", "rmdir":
		switch f, err := d.tree.Stat(ctx, at); {
		case err != nil:
			return err
		case c.Op == "unlink" && f.Dir:
			return vfs.NotFile
		case c.Op == "rmdir" && !f.Dir:
			return vfs.NotDir
		}
		return d.tree.Remove(ctx, at, c.Op == "rmdir")
	case "rename":
		return d.tree.Rename(ctx, at, vfs.Clean(c.To))
	}
	return fmt.Errorf("fs has no %s", c.Op)
}

// fileError is an error as programs for Node know it.
func fileError(c script.FileCall, err error) error {
	wrong := func(code, text string) error {
		return &script.FileError{Code: code, Text: text + ", '" + c.Path + "'"}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, vfs.ReadOnly):
		return &script.FileError{Code: "EROFS", Text: "read-only file system, " + c.Op + " '" + c.Path + "'"}
	case errors.Is(err, vfs.NotFile):
		return wrong("EISDIR", "illegal operation on a directory")
	case errors.Is(err, vfs.NotDir):
		return wrong("ENOTDIR", "not a directory")
	case errors.Is(err, vfs.NotEmpty):
		return wrong("ENOTEMPTY", "directory not empty")
	case errors.Is(err, vfs.InvalidPath):
		return wrong("EINVAL", "invalid argument")
	case errors.Is(err, vfs.Limit):
		return &script.FileError{Code: "ENOSPC", Text: err.Error()}
	case errors.Is(err, fs.ErrExist):
		return wrong("EEXIST", "file already exists")
	case errors.Is(err, fs.ErrNotExist):
		return wrong("ENOENT", "no such file or directory")
	}
	return err
}

package kit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/chat/vfs"
	"github.com/burin-dev/burin/tool"
)

type filesystemArgs struct {
	Command string `json:"command"`
	Path    string `json:"path"`
	NewPath string `json:"new_path,omitempty" jsonschema:"of rename"`
	Version int64  `json:"version,omitempty" jsonschema:"of rollback"`
}

// newFilesystem makes the tool for what the tools for files don't do: they stand on folders without versions, too.
func newFilesystem(tree *vfs.Tree) *tool.Tool {
	return tool.New(tool.Definition[filesystemArgs]{
		Name: "filesystem", Label: "Files", Effects: tool.Reads | tool.Writes,
		Description: "Moves and deletes files of the project, and goes back to what they were. read, write and edit do the rest.\n\n" +
			"- delete: a file, or a folder with all that is in it; restore brings it back\n- rename: moves path to new_path\n- mkdir: makes a folder\n" +
			"- versions: what is kept of a file, newest first\n- rollback: writes what the file held in version as a new version\n- deleted: what is deleted in a folder\n- restore: brings back what was deleted",
		Adjust: func(s *tool.Schema) {
			tool.Property(s, "command").Enum = []any{"delete", "rename", "mkdir", "versions", "rollback", "deleted", "restore"}
		},
		Access: func(a filesystemArgs) []tool.Access {
			kind := tool.AccessWrite
			if a.Command == "versions" || a.Command == "deleted" {
				kind = tool.AccessRead
			}
			all := []tool.Access{{Kind: kind, Target: inWorkspace(a.Path)}}
			if a.NewPath != "" {
				all = append(all, tool.Access{Kind: kind, Target: inWorkspace(a.NewPath)})
			}
			return all
		},
		Together: func(a filesystemArgs) bool { return a.Command == "versions" || a.Command == "deleted" },
		Run: func(ctx context.Context, _ tool.Call, a filesystemArgs) (*tool.Result, error) {
			said, err := manage(ctx, tree, a)
			if errors.Is(err, vfs.ReadOnly) && !errors.Is(err, project.ErrDenied) && strings.HasPrefix(vfs.Clean(a.Path)+"/", memories+"/") {
				err = fmt.Errorf("%w: the memory tool changes %s", err, memories)
			}
			if err != nil {
				return nil, err
			}
			return tool.Text(said), nil
		},
	})
}

// inWorkspace is a path of the project as permission judges it.
func inWorkspace(p string) string {
	if p = strings.TrimPrefix(vfs.Clean(p), "/"); p == "" {
		return "."
	}
	return p
}

func manage(ctx context.Context, tree *vfs.Tree, a filesystemArgs) (string, error) {
	at := vfs.Clean(a.Path)
	switch a.Command {
	case "delete":
		if _, err := tree.Stat(ctx, at); err != nil {
			return "", err
		}
		return "Deleted " + at + ". restore brings it back.", tree.Remove(ctx, at, true)
	case "rename":
		if a.NewPath == "" {
			return "", errors.New("rename needs new_path")
		}
		return "Renamed " + at + " to " + vfs.Clean(a.NewPath) + ".", tree.Rename(ctx, at, a.NewPath)
	case "mkdir":
		return "Made the folder " + at + ".", tree.Mkdir(ctx, at)
	case "versions":
		return versions(ctx, tree, at)
	case "rollback":
		info, err := tree.RollBack(ctx, at, a.Version)
		return fmt.Sprintf("%s holds what it held in version %d. This is version %d.", at, a.Version, info.Version), err
	case "deleted":
		return deleted(ctx, tree, at)
	case "restore":
		return "Restored " + at + ".", tree.Restore(ctx, at)
	}
	return "", fmt.Errorf("unknown filesystem command: %s", a.Command)
}

func versions(ctx context.Context, tree *vfs.Tree, at string) (string, error) {
	all, err := tree.Versions(ctx, at)
	var b strings.Builder
	for _, v := range all {
		fmt.Fprintf(&b, "%d  %s  %d bytes\n", v.Number, v.Modified.UTC().Format(time.RFC3339), v.Size)
	}
	return b.String(), err
}

func deleted(ctx context.Context, tree *vfs.Tree, at string) (string, error) {
	all, err := tree.Walk(ctx, at, true)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var b strings.Builder
	for _, i := range all {
		if i.Deleted {
			b.WriteString(i.Path + "\n")
		}
	}
	if b.Len() == 0 {
		return "Nothing is deleted in " + at + ".", nil
	}
	return b.String(), nil
}

type sketchArgs struct {
	Content string `json:"content" jsonschema:"the text to add"`
}

// newSketchbook makes the notepad of a chat.
func newSketchbook(tree *vfs.Tree, chat string) *tool.Tool {
	at := "/sketchbook/" + chat + ".md"
	return tool.New(tool.Definition[sketchArgs]{
		Name: "sketchbook", Label: "Sketchbook", Effects: tool.Writes,
		Description: "Adds a text to the notepad of this conversation: drafts, steps of your reasoning, working notes. You can't read it with this tool; the user can.",
		Access: func(sketchArgs) []tool.Access {
			return []tool.Access{{Kind: tool.AccessWrite, Target: inWorkspace(at)}}
		},
		Run: func(ctx context.Context, _ tool.Call, a sketchArgs) (*tool.Result, error) {
			_, err := tree.Edit(ctx, at, func(old []byte) ([]byte, error) {
				return fmt.Appendf(nil, "%s\n---\n%s", old, a.Content), nil
			})
			if errors.Is(err, fs.ErrNotExist) {
				_, err = tree.Write(ctx, at, []byte(a.Content), vfs.Missing)
			}
			if err != nil {
				return tool.Failure("Error, please retry: " + err.Error()), nil
			}
			return tool.Text("noted."), nil
		},
	})
}

package rpc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/burin-dev/burin/internal/host/archive"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/transcript"
)

type bashJSON struct {
	Command string `json:"command"`
	Private bool   `json:"excludeFromContext"`
}

type bashResultJSON struct {
	Output    string `json:"output"`
	ExitCode  *int   `json:"exitCode,omitempty"`
	Cancelled bool   `json:"cancelled"`
	Truncated bool   `json:"truncated"`
	Full      string `json:"fullOutputPath,omitempty"`
}

type bashUpdateJSON struct {
	Type  string `json:"type"`
	ID    any    `json:"id,omitempty"`
	Delta string `json:"delta"`
}

func shellCommands() []command {
	return []command{
		on("bash", "Conversation.Run", beside, func(ctx context.Context, c *call, p bashJSON) (any, error) {
			pieces := newSpool(func(piece string) {
				u := bashUpdateJSON{Type: "bash_execution_update", Delta: piece}
				if c.ID != nil {
					u.ID = c.ID
				}
				c.f.out.object(u)
			})
			c.s.commands.Add(1) // before its event is read
			defer c.s.commands.Add(-1)
			r, err := c.s.h.Conversation().Run(ctx, p.Command, p.Private, pieces.add)
			pieces.close()
			switch {
			case err != nil && ctx.Err() != nil:
				return bashResultJSON{Cancelled: true}, nil
			case err != nil:
				return nil, err
			}
			out := bashResultJSON{Output: r.Output, Cancelled: r.Cancelled, Truncated: r.Truncated, Full: r.Artifact}
			if r.ExitCode >= 0 {
				out.ExitCode = &r.ExitCode
			}
			return out, nil
		}),
		of("abort_bash", "Conversation.AbortCommand", beside, func(ctx context.Context, c *call) (any, error) {
			c.f.stop(func(j *job) bool { return j.Type == "bash" || j.Type == ownPrefix+"run" }) // including one that has not begun
			return nil, c.s.h.Conversation().AbortCommand(ctx)
		}),
	}
}

type entryJSON struct {
	Entry string `json:"entryId"`
}

type cancelledJSON struct {
	Text      *string `json:"text,omitempty"`
	Cancelled bool    `json:"cancelled"`
}

// errUnkept means that a session has no file to copy or export.
var errUnkept = errors.New("the session has no file: no answer has come yet, or it is not kept")

// kept returns the file of a session, once it has an answer.
func kept(h session.Handle) (string, error) {
	f := h.Facts()
	if f.Path == "" || !f.Kept {
		return "", errUnkept
	}
	return f.Path, nil
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// copyTo switches to a copy of the session up to an entry.
func (c *call) copyTo(ctx context.Context, entry string) error {
	path, err := kept(c.s.h)
	if err != nil {
		return err
	}
	a, err := c.f.o.Host.Archive()
	if err != nil {
		return err
	}
	made, err := a.Branch(ctx, path, entry)
	if err != nil {
		return err
	}
	return c.f.move(ctx, c.s, Wish{Resume: made.File})
}

// fork switches to a copy of the session that ends before a message of the person, and returns
// the text of that message.
func fork(ctx context.Context, c *call, p entryJSON) (any, error) {
	e, err := c.s.h.Transcript().Entry(p.Entry)
	if err != nil || p.Entry == "" {
		return nil, fmt.Errorf("the session has no entry %q", p.Entry)
	}
	if e.Type != transcript.TypeMessage || e.Message == nil || e.Message.Role != llm.RoleUser {
		return nil, fmt.Errorf("entry %s is not a message of a person: get_fork_messages lists them", p.Entry)
	}
	text := e.Message.Text()
	if e.ParentID == nil { // nothing to copy before the first message
		err = c.f.move(ctx, c.s, Wish{Parent: c.s.h.Facts().ID})
	} else if err = c.copyTo(ctx, *e.ParentID); errors.Is(err, transcript.ErrEmpty) {
		err = c.f.move(ctx, c.s, Wish{Parent: c.s.h.Facts().ID})
	}
	return cancelledJSON{Text: &text}, err
}

func userMessages(_ context.Context, c *call) (any, error) {
	type message struct {
		Entry string `json:"entryId"`
		Text  string `json:"text"`
	}
	all := []message{}
	log := c.s.h.Transcript()
	nodes := log.Nodes()
	for _, i := range branch(nodes, log.Leaf()) {
		if nodes[i].Type != transcript.TypeMessage || nodes[i].Role != llm.RoleUser {
			continue
		}
		e, err := log.Entry(nodes[i].ID)
		if err != nil {
			return nil, err
		}
		if text := e.Message.Text(); text != "" {
			all = append(all, message{e.ID, text})
		}
	}
	return map[string]any{"messages": all}, nil
}

func sessionCommands() []command {
	return []command{
		on("new_session", "the host's Open", moving, func(ctx context.Context, c *call, p struct {
			Parent string `json:"parentSession"`
		},
		) (any, error) {
			return cancelledJSON{}, c.f.move(ctx, c.s, Wish{Parent: p.Parent})
		}),
		on("switch_session", "the host's Open", moving, func(ctx context.Context, c *call, p struct {
			Path string `json:"sessionPath"`
		},
		) (any, error) {
			if p.Path == "" {
				return nil, errors.New(`switch_session needs "sessionPath"`)
			}
			path, err := filepath.Abs(p.Path)
			if err != nil {
				return nil, err
			}
			if sameFile(path, c.s.h.Facts().Path) {
				return cancelledJSON{}, nil
			}
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("no session file %s", p.Path)
			}
			return cancelledJSON{}, c.f.move(ctx, c.s, Wish{Resume: path})
		}),
		on("fork", "the archive's Branch, the host's Open", moving, fork),
		on("branch", "the same as fork", moving, fork),
		of("clone", "the archive's Branch, the host's Open", moving, func(ctx context.Context, c *call) (any, error) {
			return cancelledJSON{}, c.copyTo(ctx, c.s.h.Transcript().Leaf())
		}),
		of("get_fork_messages", "Transcript", inOrder, userMessages),
		of("get_branch_messages", "Transcript", inOrder, userMessages),
		on("get_entries", "Transcript", inOrder, func(_ context.Context, c *call, p struct {
			Since *string `json:"since"`
		},
		) (any, error) {
			return entries(c.s.h.Transcript(), p.Since)
		}),
		of("get_tree", "Transcript", inOrder, func(_ context.Context, c *call) (any, error) {
			return tree(c.s.h.Transcript())
		}),
		on("set_session_name", "Conversation.SetTitle", inOrder, func(ctx context.Context, c *call, p struct {
			Name string `json:"name"`
		},
		) (any, error) {
			if name := trimmed(p.Name); name != "" {
				return nil, c.s.h.Conversation().SetTitle(ctx, name)
			}
			return nil, errors.New("the name is empty")
		}),
		on("export_html", "the archive's Export", beside, func(ctx context.Context, c *call, p struct {
			Path string `json:"outputPath"`
		},
		) (any, error) {
			from, err := kept(c.s.h)
			if err != nil {
				return nil, err
			}
			a, err := c.f.o.Host.Archive()
			if err != nil {
				return nil, err
			}
			done, err := a.Export(ctx, archive.ExportOptions{Session: from, Format: "html", To: p.Path})
			if err != nil {
				return nil, err
			}
			path, err := filepath.Abs(done.File)
			return map[string]any{"path": path}, err
		}),
		of("get_commands", "the host's FileCommands and Skills", inOrder, func(_ context.Context, c *call) (any, error) {
			all := []commandJSON{}
			for _, f := range c.f.o.Host.FileCommands().List() {
				all = append(all, commandJSON{f.Name, f.Description, "prompt", sourceJSON{f.Path, f.Source, scopeOf(f.Source), "top-level"}})
			}
			for _, k := range c.f.o.Host.Skills().Callable() {
				all = append(all, commandJSON{"skill:" + k.Name, k.Description, "skill", sourceJSON{k.Path, k.Source, scopeOf(k.Source), "top-level"}})
			}
			return map[string]any{"commands": all}, nil
		}),
	}
}

type commandJSON struct {
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Source      string     `json:"source"`
	Info        sourceJSON `json:"sourceInfo"`
}

type sourceJSON struct {
	Path   string `json:"path"`
	Source string `json:"source"`
	Scope  string `json:"scope"`
	Origin string `json:"origin"`
}

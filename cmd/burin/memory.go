package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/burin-dev/burin/internal/customize/memory"
	"github.com/burin-dev/burin/internal/host"
	"github.com/burin-dev/burin/internal/mode/tui/external"
)

func memoryCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Show and change what burin remembers of this project",
		Long: `Show what burin remembers of this project and of you, what new sessions are told, and what
it has cost. Memory is off until you turn it on:

  burin config set memory.backend local

A terminal session then reads past sessions of the project in the background, with the model of
the role smol, and keeps what is worth knowing in Markdown files, which you can edit.

  burin memory                 what is remembered
  burin memory add "we release on Fridays"
  burin memory update          read past sessions now
  burin memory edit            open MEMORY.md in your editor
  burin memory clear           forget this project`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return withMemory(cmd.Context(), p, nil, viewMemory) },
	}
	cmd.AddCommand(memoryView(p), memoryAdd(p), memoryUpdate(p), memoryEdit(p), memoryPath(p), memoryClear(p), memoryRebuild(p))
	return cmd
}

// withMemory does something with the memory of the folder. a may be nil.
func withMemory(ctx context.Context, p *program, a *askFlags, do func(context.Context, *program, *host.Memory) error) error {
	h, err := p.host(a)
	if err != nil {
		return err
	}
	defer p.closeHost(ctx, h)
	m, err := h.Memory()
	if err != nil {
		return err
	}
	return do(ctx, p, m)
}

// memoryIn does what /memory asks for, with the model that the flags name.
func memoryIn(h *host.Host, a askFlags) func(ctx context.Context, arg string) (string, error) {
	return func(ctx context.Context, arg string) (string, error) {
		return h.MemoryCommand(ctx, a.wish().Choice, arg)
	}
}

// changeMemory changes the memory of the folder, and says what was done.
func changeMemory(ctx context.Context, p *program, change func(*host.Memory) (done string, err error)) error {
	return withMemory(ctx, p, nil, func(_ context.Context, p *program, m *host.Memory) error {
		done, err := change(m)
		if err == nil {
			fmt.Fprintln(p.err, done)
		}
		return err
	})
}

func viewMemory(ctx context.Context, p *program, m *host.Memory) error {
	text, err := m.View(ctx)
	if err == nil {
		fmt.Fprint(p.out, text)
	}
	return err
}

func memoryView(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "view",
		Short: "Show what is remembered, and what it has cost",
		Args:  arguments(0, 0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return withMemory(cmd.Context(), p, nil, viewMemory) },
	}
}

// forUser is the flag for the memory that holds in all projects.
func forUser(cmd *cobra.Command, user *bool) {
	cmd.Flags().BoolVar(user, "user", false, "what holds in all projects, instead of this one")
}

func memoryAdd(p *program) *cobra.Command {
	var user bool
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Remember a sentence",
		Long: `Remember a sentence. New sessions are told at once; the next update merges it into MEMORY.md.

  burin memory add "the staging server is rebuilt every night"
  burin memory add --user "answer in German"`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeMemory(cmd.Context(), p, func(m *host.Memory) (string, error) { return m.Add(args[0], user) })
		},
	}
	forUser(cmd, &user)
	return cmd
}

func memoryUpdate(p *program) *cobra.Command {
	var a askFlags
	cmd := &cobra.Command{
		Use:   "update",
		Short: "Read past sessions of this project now",
		Long: `Read the sessions of this project that have changed since the last update, and merge what
is worth knowing into the memory. The model of the role smol is asked, else the default one.

  burin memory update`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.check(); err != nil {
				return err
			}
			return withMemory(cmd.Context(), p, &a, func(ctx context.Context, p *program, m *host.Memory) error {
				r, err := m.Update(ctx, a.wish().Choice, true, func(line string) {
					if p.isTerminal(p.err) { // nobody watches a log
						fmt.Fprintln(p.err, line)
					}
				})
				if err == nil || r.Read > 0 {
					fmt.Fprintln(p.err, host.Remembered(r))
				}
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&a.model, "model", "", "model to ask where the role smol has none")
	f.StringVar(&a.baseURL, "base-url", "", "server address, for a model that is not configured")
	f.StringVar(&a.api, "api", "", "wire format of --base-url")
	return cmd
}

func memoryEdit(p *program) *cobra.Command {
	var user bool
	cmd := &cobra.Command{
		Use:   "edit [FILE]",
		Short: "Open MEMORY.md, or another file of the memory, in your editor",
		Long: `Open MEMORY.md, or another file of the memory, in the editor of VISUAL or EDITOR. Later
updates keep what you write.

  burin memory edit
  burin memory edit summary.md`,
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := memory.Long
			if len(args) == 1 {
				name = args[0]
			}
			if name != memory.Notes && memory.Check(name, "") != nil {
				return usage("%q is not a file of the memory: edit MEMORY.md, summary.md, notes.md or skills/NAME/SKILL.md", name)
			}
			return withMemory(cmd.Context(), p, nil, func(ctx context.Context, p *program, m *host.Memory) error {
				file := m.Store(user).Path(name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					return fmt.Errorf("edit the memory: %w", err)
				}
				return external.Open(ctx, external.Options{Getenv: p.getenv, Stdin: p.in}, file)
			})
		},
	}
	forUser(cmd, &user)
	return cmd
}

func memoryPath(p *program) *cobra.Command {
	var user bool
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print where the files are",
		Args:  arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withMemory(cmd.Context(), p, nil, func(_ context.Context, p *program, m *host.Memory) error {
				fmt.Fprintln(p.out, m.Store(user).Dir())
				return nil
			})
		},
	}
	forUser(cmd, &user)
	return cmd
}

func memoryClear(p *program) *cobra.Command {
	var user bool
	cmd := &cobra.Command{
		Use:     "clear",
		Aliases: []string{"reset"},
		Short:   "Forget everything about this project",
		Long: `Remove the files of the memory and their old versions. Sessions that are over by now are not
read again, unless burin memory rebuild asks for it.

  burin memory clear
  burin memory clear --user    what holds in all projects`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeMemory(cmd.Context(), p, func(m *host.Memory) (string, error) { return m.Clear(user) })
		},
	}
	forUser(cmd, &user)
	return cmd
}

func memoryRebuild(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "rebuild",
		Aliases: []string{"enqueue"},
		Short:   "Have the next update merge everything again",
		Long: `Have the next update merge the facts of all sessions again, and read sessions that were left
out because the memory had been cleared.

  burin memory rebuild && burin memory update`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return changeMemory(cmd.Context(), p, func(m *host.Memory) (string, error) {
				return "The next update merges everything again.", m.Project.Rebuild()
			})
		},
	}
}

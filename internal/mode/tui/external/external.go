// Package external edits a prompt in the person's own editor: that of VISUAL or
// EDITOR, or else nano, vi or Notepad.
//
// The text stands in a file of its own that only its owner can read, in a folder that
// is gone afterwards, with whatever the editor left there. Whatever goes wrong, the
// text that was given is what comes back, with an error of one line.
//
// The editor starts in that folder, not in the workspace: editors run what they find as
// .exrc or .dir-locals.el where they start, and commands may write such files. For the
// same reason it is none that lies in a folder of commands (see package installed).
//
// The editor gets the terminal: [Options.Suspend] gives it away and [Options.Resume]
// takes it back, also when the editor failed. The editor is not guarded, since it is
// the person's and may hold what is nowhere else: if burin is killed, it stays.
package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/installed"
)

// FileName is the name of the file that is edited; editors know Markdown by it.
const FileName = "burin-prompt.md"

// MaxText is how many bytes an edited text may have.
const MaxText = 16 << 20

// Options of [Edit].
type Options struct {
	// Getenv gives VISUAL and EDITOR; nil is the environment.
	Getenv func(string) string
	// Suspend gives the terminal away, and Resume takes it back. Either may be nil.
	Suspend, Resume func() error
	// Folder is where the folder of the text is made: one that commands cannot write. It is
	// made if it is missing; "" is that of temporary files.
	Folder string
	// Writable are folders that commands may write: no editor is taken from there.
	Writable []string
	// What the editor reads and writes; nil is burin's own.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Edit gives text to the editor and returns what it became. It returns when the editor
// has ended. A context that ends kills the editor.
func Edit(ctx context.Context, o Options, text string) (edited string, err error) {
	command, err := o.command()
	if err != nil {
		return text, err
	}
	if o.Folder != "" {
		err = os.MkdirAll(o.Folder, 0o700)
	}
	var dir string
	if err == nil {
		dir, err = os.MkdirTemp(o.Folder, "editor-") // 0700
	}
	if err != nil {
		return text, fmt.Errorf("create a file for the editor: %w", err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); gone != nil && err == nil {
			err = fmt.Errorf("the text was read, but its file could not be removed: %w", gone)
		}
	}()
	file := filepath.Join(dir, FileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return text, fmt.Errorf("create a file for the editor: %w", err)
	}
	if err := o.run(ctx, dir, append(command, file)); err != nil {
		return text, fmt.Errorf("%w: your text is unchanged", err)
	}
	return read(file, text)
}

// Open opens a file of the person's in the editor, and returns when the editor has ended. The
// editor starts in the file's folder.
func Open(ctx context.Context, o Options, file string) error {
	command, err := o.command()
	if err != nil {
		return err
	}
	return o.run(ctx, filepath.Dir(file), append(command, file))
}

// read takes the text over; one that has not changed is exactly as it was.
func read(file, text string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return text, fmt.Errorf("read what the editor wrote: %w: your text is unchanged", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, max(MaxText, int64(len(text)))+1))
	switch {
	case err != nil:
		return text, fmt.Errorf("read what the editor wrote: %w: your text is unchanged", err)
	case string(data) == text, string(data) == text+"\n":
		return text, nil
	case len(data) > MaxText:
		return text, fmt.Errorf("what the editor wrote is larger than %d MB: your text is unchanged", MaxText>>20)
	case !utf8.Valid(data):
		return text, errors.New("what the editor wrote is not UTF-8 text: your text is unchanged")
	}
	return string(data), nil
}

// run starts the editor in the terminal and in dir, and waits for it.
func (o Options) run(ctx context.Context, dir string, command []string) (err error) {
	if o.Suspend != nil {
		if err := o.Suspend(); err != nil {
			return fmt.Errorf("give the terminal to %s: %w", filepath.Base(command[0]), err)
		}
	}
	if o.Resume != nil {
		defer func() {
			if back := o.Resume(); back != nil && err == nil {
				err = fmt.Errorf("take the terminal back: %w", back)
			}
		}()
	}
	// Ctrl+C is meant for the editor, and comes to burin too.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	cmd, err := installed.Command(ctx, o.Writable, command[0], command[1:]...)
	if err != nil {
		return fmt.Errorf("start the editor: %w", err)
	}
	cmd.Dir = dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	if cmd.Stdin == nil {
		cmd.Stdin = os.Stdin
	}
	if cmd.Stdout == nil {
		cmd.Stdout = os.Stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("the editor %s ended with an error (%v)", filepath.Base(command[0]), exit)
	}
	if err != nil {
		return fmt.Errorf("start the editor: %w", err)
	}
	return nil
}

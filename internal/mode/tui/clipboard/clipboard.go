// Package clipboard copies text to the clipboard of the person at the terminal, reads
// pictures from it, and recognizes files that were dragged into the terminal.
//
// # Copying
//
// [Clipboard.Copy] takes every way that may work. The sequence OSC 52 asks the
// terminal itself, which is the only way over SSH; within tmux, tmux is asked, since it
// keeps the sequence from the terminal by default. Where burin runs on the person's own
// machine, its tools are used too: many terminals ignore the sequence, and none says
// so. Text of more than 100 KB is too much for the sequence, and only goes by tools.
//
// # Limits
//
// Tools run for at most three seconds and get at most 16 MB. A picture has at most
// 32 MB. Nothing stays behind but what a tool itself leaves running to serve the
// clipboard. The methods wait for tools, so they belong in a goroutine.
package clipboard

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/burin-dev/burin/internal/installed"
)

const (
	// MaxSequence is how many bytes of text go by OSC 52.
	MaxSequence = 100 << 10
	// MaxText is how many bytes of text go by tools.
	MaxText = 16 << 20
	// MaxImage is how many bytes a picture may have.
	MaxImage = 32 << 20

	timeLimit = 3 * time.Second
)

// Options of a [Clipboard].
type Options struct {
	// Terminal writes a sequence to the terminal; nil is none. It is called on the
	// goroutine of Copy.
	Terminal func(sequence []byte) error
	// Getenv is the environment; nil is that of burin.
	Getenv func(string) string
	// Writable are folders that commands may write: no tool is taken from there.
	Writable []string
}

// Clipboard is the clipboard of the person. It is safe for concurrent use.
type Clipboard struct {
	o      Options
	system string // runtime.GOOS
	limit  time.Duration
}

// New gives the clipboard. It runs nothing.
func New(o Options) *Clipboard {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return &Clipboard{o: o, system: runtime.GOOS, limit: timeLimit}
}

// Copy puts text into the clipboard. It is nil if any way took it; whether a terminal
// did, it does not say.
func (c *Clipboard) Copy(ctx context.Context, text string) error {
	if len(text) > MaxText {
		return fmt.Errorf("the text is too large for the clipboard (%d MB of at most %d MB): copy a part of it", len(text)>>20, MaxText>>20)
	}
	taken, failed := c.byTools(ctx, text)
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(text) <= MaxSequence && c.o.Terminal != nil {
		if err := c.byTerminal(ctx, text); err != nil {
			failed = errors.Join(failed, err)
		} else {
			taken = true
		}
	}
	switch {
	case taken:
		return nil
	case failed != nil:
		return fmt.Errorf("copy to the clipboard: %w", first(failed))
	case len(text) > MaxSequence && c.remote():
		return fmt.Errorf("the text is too large to copy over SSH (%d KB of at most %d KB): copy a part of it", len(text)>>10, MaxSequence>>10)
	case len(text) > MaxSequence:
		return fmt.Errorf("the text is too large for the terminal's clipboard (%d KB of at most %d KB): %s", len(text)>>10, MaxSequence>>10, c.advice())
	}
	return fmt.Errorf("no program here can copy to the clipboard: %s", c.advice())
}

// first is the first of joined errors: what is shown has one line.
func first(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 0 {
		return first(joined.Unwrap()[0])
	}
	return err
}

// remote reports whether burin runs on another machine than the terminal.
func (c *Clipboard) remote() bool {
	for _, name := range []string{"SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"} {
		if c.o.Getenv(name) != "" {
			return true
		}
	}
	return false
}

func (c *Clipboard) wsl() bool {
	return c.system == "linux" && (c.o.Getenv("WSL_DISTRO_NAME") != "" || c.o.Getenv("WSL_INTEROP") != "")
}

// advice says what to install.
func (c *Clipboard) advice() string {
	if c.o.Getenv("WAYLAND_DISPLAY") != "" {
		return "install wl-clipboard"
	}
	if c.system == "linux" && !c.wsl() {
		return "install xclip, or wl-clipboard"
	}
	return "use a terminal that lets programs copy"
}

// tool is a program and its arguments.
type tool []string

const setPowerShell = "[Console]::InputEncoding=[Text.Encoding]::UTF8;Set-Clipboard -Value ([Console]::In.ReadToEnd())"

// copiers are the tools that may be there, the best first.
func (c *Clipboard) copiers() (tools []tool) {
	if c.remote() {
		return nil
	}
	shell := tool{"powershell.exe", "-NoProfile", "-NonInteractive", "-Command", setPowerShell}
	switch {
	case c.system == "darwin":
		return []tool{{"pbcopy"}}
	case c.system == "windows", c.wsl():
		return []tool{shell, {"clip.exe"}}
	case c.o.Getenv("TERMUX_VERSION") != "":
		return []tool{{"termux-clipboard-set"}}
	}
	if c.o.Getenv("WAYLAND_DISPLAY") != "" {
		tools = append(tools, tool{"wl-copy"})
	}
	if c.o.Getenv("DISPLAY") != "" {
		tools = append(tools, tool{"xclip", "-selection", "clipboard", "-in"}, tool{"xsel", "--clipboard", "--input"})
	}
	return tools
}

// byTools copies with the first tool that takes the text.
func (c *Clipboard) byTools(ctx context.Context, text string) (taken bool, failed error) {
	for _, t := range c.copiers() {
		if _, err := installed.Find(t[0], c.o.Writable...); err != nil {
			continue
		}
		input := text
		if t[0] == "clip.exe" {
			input = utf16le(text) // otherwise it takes the text for one of the code page
		}
		err := c.feed(ctx, t, input)
		if err == nil {
			return true, nil
		}
		failed = errors.Join(failed, err)
	}
	return false, failed
}

func utf16le(text string) string {
	b := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// feed gives input to a tool and waits for it. The tool's output goes nowhere: one that
// stays to serve the clipboard would keep a pipe open.
func (c *Clipboard) feed(ctx context.Context, t tool, input string) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	cmd, err := installed.Command(ctx, c.o.Writable, t[0], t[1:]...)
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = c.limit
	return told(ctx, t, cmd.Run())
}

// told says in one line how a tool failed.
func told(ctx context.Context, t tool, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%s did not answer", t[0])
	}
	return fmt.Errorf("%s: %w", t[0], err)
}

// byTerminal copies by tmux, or else by a sequence.
func (c *Clipboard) byTerminal(ctx context.Context, text string) error {
	if c.o.Getenv("TMUX") != "" {
		t := tool{"tmux", "load-buffer", "-w", "-"}
		if c.feed(ctx, t, text) == nil {
			return nil
		}
	}
	return c.o.Terminal(Sequence(c.o.Getenv, text))
}

// screenPiece is how many bytes GNU screen takes in one sequence, with some to spare.
const screenPiece = 500

// Sequence is OSC 52 for a text, wrapped for tmux or GNU screen to hand it through.
func Sequence(getenv func(string) string, text string) []byte {
	s := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(text)) + "\a"
	switch {
	case getenv("TMUX") != "":
		s = "\x1bPtmux;\x1b" + s + "\x1b\\"
	case getenv("STY") != "":
		var b strings.Builder
		for len(s) > 0 {
			n := min(len(s), screenPiece)
			b.WriteString("\x1bP" + s[:n] + "\x1b\\")
			s = s[n:]
		}
		s = b.String()
	}
	return []byte(s)
}

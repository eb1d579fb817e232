// Package foreign imports conversations of other programs as sessions of version
// 3, the format of package transcript, and says of each what was lost.
//
// [Detect] names the format of a file or folder, [Default] says where programs keep
// their conversations on a machine, and [Import] reads them, one conversation at a
// time. The caller writes what it gets: [Session.Records] are the records for a
// transcript.Store.
//
// # Formats
//
//   - Claude Code: a JSON Lines file a session, a tree by uuid and parentUuid; the
//     conversations of sub-agents within it, or in its folder "subagents".
//   - Codex: rollout files, JSON Lines with and without an envelope, and the single
//     JSON file of the first versions.
//   - opencode: the folder "storage" of JSON files, one session file of it, the
//     SQLite database of later versions, and the JSON that "opencode export" writes.
//   - Gemini CLI: session files, JSON and, later, JSON Lines.
//   - The pi family (pi, oh-my-pi, arcane, gajae): package transcript reads these
//     files as they are; here they are copied entry by entry.
//   - ChatGPT and Claude.ai: the file conversations.json of a data export, the
//     folder that was unpacked, or the archive itself.
//   - Open WebUI and LibreChat: their exports as JSON.
//
// None of these formats is documented by its owner for good; fields were taken from
// published sources of the programs and from what other readers of them found.
//
// # What is promised
//
//   - Nothing is invented: times, models, token counts and costs that the source
//     does not give stay empty. Ids of sessions and entries are derived from the
//     source, so that a second import gives the same ones, also where the
//     conversation has grown meanwhile.
//   - Branches stay branches. The last entry ends the branch that was active.
//   - What cannot be carried over is listed in the [Report], with its line or index
//     where it could not be read.
//   - Nothing outside the given path is opened, whatever a file names: pictures come
//     from data URLs and from files within the same export.
//   - Text of these files is data. Titles and folders are freed of control
//     characters and cut; nothing else is looked at.
package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/transcript"
)

// Format names the program that wrote a file.
type Format string

// Formats that are read.
const (
	ClaudeCode Format = "claude-code"
	Codex      Format = "codex"
	OpenCode   Format = "opencode"
	GeminiCLI  Format = "gemini-cli"
	Pi         Format = "pi"
	ChatGPT    Format = "chatgpt"
	ClaudeAI   Format = "claude.ai"
	OpenWebUI  Format = "open-webui"
	LibreChat  Format = "librechat"
)

// Formats lists all formats.
func Formats() []Format {
	return []Format{ClaudeCode, Codex, OpenCode, GeminiCLI, Pi, ChatGPT, ClaudeAI, OpenWebUI, LibreChat}
}

// Title is the program's own name.
func (f Format) Title() string {
	switch f {
	case ClaudeCode:
		return "Claude Code"
	case Codex:
		return "Codex"
	case OpenCode:
		return "opencode"
	case GeminiCLI:
		return "Gemini CLI"
	case Pi:
		return "the pi family"
	case ChatGPT:
		return "ChatGPT"
	case ClaudeAI:
		return "Claude.ai"
	case OpenWebUI:
		return "Open WebUI"
	case LibreChat:
		return "LibreChat"
	}
	return string(f)
}

// Options of an import.
type Options struct {
	Format Format // "" detects it
}

// Session is one conversation, as entries of a session file.
type Session struct {
	// Header has a time, a folder and a title only where the source has them.
	Header transcript.Header
	// Entries are in an order in which parents come before children. The last one
	// ends the active branch.
	Entries []transcript.Entry
	Report  Report
}

// Records are the records of the session file, the header first.
func (s *Session) Records() ([][]byte, error) {
	records := make([][]byte, 0, len(s.Entries)+1)
	head, err := encode(&s.Header)
	if err != nil {
		return nil, fmt.Errorf("write imported session: %w", err)
	}
	records = append(records, head)
	for i := range s.Entries {
		e := &s.Entries[i]
		if e.Raw != nil {
			records = append(records, e.Raw)
			continue
		}
		record, err := e.Record()
		if err != nil {
			return nil, fmt.Errorf("write imported session: entry %s: %w", e.ID, err)
		}
		records = append(records, record)
	}
	return records, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Report says what became of a conversation.
type Report struct {
	Source string // the file, and what names the conversation in it
	Format string
	Title  string

	Messages  int // 0: there is nothing to keep
	ToolCalls int
	Images    int
	Branches  int // ends of branches besides the active one
	Lossy     []Loss
}

// Loss is something that did not come over as it was.
type Loss struct {
	What  string
	Count int
	Why   string
}

// String is a few lines for the user.
func (r Report) String() string {
	var b strings.Builder
	title := r.Title
	if title == "" {
		title = "without a title"
	}
	fmt.Fprintf(&b, "%s (%s), from %s\n", title, Format(r.Format).Title(), r.Source)
	fmt.Fprintf(&b, "  %s, %s, %s, %s\n", prose.Count(r.Messages, "message"), prose.Count(r.ToolCalls, "tool call"),
		prose.Count(r.Images, "image"), prose.Count(r.Branches, "other branch"))
	for _, l := range r.Lossy {
		fmt.Fprintf(&b, "  not as it was: %s (%d): %s\n", l.What, l.Count, l.Why)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Import reads the conversations at path: a file, or a folder with any number of
// them. It holds one conversation in memory at a time.
//
// An error is about one conversation or file and comes with a nil session; others
// may follow. One whose text is no longer JSON, such as an export that was cut off,
// ends its file.
func Import(ctx context.Context, path string, o Options) iter.Seq2[*Session, error] {
	return func(yield func(*Session, error) bool) {
		in := &importer{yield: yield}
		in.path(ctx, path, o.Format)
	}
}

// importer hands sessions to the caller.
type importer struct {
	yield   func(*Session, error) bool
	stopped bool
}

// fail hands over an error and reports whether to continue. Nothing follows the end of
// the context.
func (in *importer) fail(err error) bool {
	if !in.stopped && !in.yield(nil, err) {
		in.stopped = true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		in.stopped = true
	}
	return !in.stopped
}

// give hands over a session and reports whether to continue.
func (in *importer) give(ctx context.Context, s *Session) bool {
	if in.stopped {
		return false
	}
	if err := ctx.Err(); err != nil {
		return in.fail(err)
	}
	if !in.yield(s, nil) {
		in.stopped = true
	}
	return !in.stopped
}

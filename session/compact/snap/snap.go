// Package snap compacts a conversation without a model, key or network: old history
// is printed in a small pixel font on pictures, which cost a model that reads pictures
// fewer tokens than the text would.
//
// [Serialize] writes entries as one line of text, [Render] prints text on frames, and
// [Compact] does both for a cut of package compact and gives the entry to append. Its
// summary says how the frames are to be read; the frames are in the entry's preserved
// data, where [Images] finds them each time the context is rebuilt. A later compaction
// keeps them until there are more than the provider accepts: then the oldest fade,
// except for the very first.
//
// What was said is data. Nothing in it can become a line end, a grey span or the role
// of a speaker: what would be taken for one is printed differently. The same history
// gives the same pixels.
package snap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/compact"
	"github.com/burin-dev/burin/transcript"
)

// Reasons why history cannot become pictures; another strategy has to do it.
var (
	ErrNoImages = errors.New("the model reads no pictures")
	ErrScript   = errors.New("too much of the history is in a script that the pixel fonts do not have")
)

// Options say how history becomes pictures.
type Options struct {
	Shape     string // a name of [Shapes]; "" or "auto": by the model
	MaxFrames int    // of the whole archive, if the provider takes that many; 0: as many as it should get
	Serialize SerializeOptions
	Summary   compact.SummaryOptions
	// Previous is the compaction before this one. nil: the last one in the cut, which
	// it is part of unless what it kept cannot be found.
	Previous *transcript.Entry
}

const (
	defaultFrames = 8
	lostPercent   = 10 // of characters without a glyph, beyond which pictures are no use
	payload       = "openaiRemoteCompaction"
)

// budget is how many frames a provider should get. All that are known take eight or
// more; one of them drops the ninth without a word.
func budget(provider string, wanted int) int {
	n := 5
	switch provider {
	case "anthropic", "amazon-bedrock", "openai", "openai-codex", "google", "google-vertex", "google-gemini-cli", "openrouter":
		n = defaultFrames
	}
	if wanted > 0 {
		n = min(n, wanted)
	}
	return n
}

// Compact prints what a cut removes and returns the compaction to append; see
// [compact.Cut.Entry] for the fields that the caller sets. The errors are
// [ErrNoImages], [ErrScript], [compact.ErrNothing], that of ctx, or an invalid option.
// Frames of an earlier compaction that are damaged are left out, and the
// summary says how much is missing.
func Compact(ctx context.Context, c *compact.Cut, model *llm.Model, o Options) (transcript.Entry, error) {
	if model == nil || !model.Accepts(llm.ModalityImage) {
		return transcript.Entry{}, ErrNoImages
	}
	s, err := ShapeFor(model, o.Shape)
	if err != nil {
		return transcript.Entry{}, err
	}
	previous := o.Previous
	if previous == nil {
		previous = last(c)
	}
	old, _ := archiveOf(previous) // what could not be read is counted as truncated
	codes, fresh, err := history(c, previous, old, o.Serialize)
	if err != nil {
		return transcript.Entry{}, err
	}
	a, err := grow(ctx, old, codes, s, budget(model.Provider, o.MaxFrames))
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("print the history: %w", err)
	}
	a.TotalChars = claimed(old.TotalChars + fresh)
	raw, err := preserve(o.Summary.Preserve, a)
	if err != nil {
		return transcript.Entry{}, err
	}
	return c.Entry(compact.Body{Text: guide(a, s), Short: a.short(), Preserve: raw}, o.Summary)
}

// last finds the last compaction among the entries of a cut.
func last(c *compact.Cut) *transcript.Entry {
	for _, part := range [...][]transcript.Entry{c.Kept, c.Prefix, c.History} {
		for i := len(part) - 1; i >= 0; i-- {
			if part[i].Type == transcript.TypeCompaction {
				return &part[i]
			}
		}
	}
	return nil
}

// Headings of what is printed.
const (
	headSummary = "[Summary of earlier history]"
	headRecent  = "[Recent conversation]"
)

// history is what has to be printed: the tail of the archive, a summary that is in
// words, and what is cut off. fresh is how many characters of it are new.
func history(c *compact.Cut, previous *transcript.Entry, old Archive, o SerializeOptions) (codes []byte, fresh int, err error) {
	w := newWriter(o)
	for _, part := range [...][]transcript.Entry{c.History, c.Prefix, c.Kept} {
		w.note(part)
	}
	w.dst = w.clean.append(w.dst, old.TextTail, printed)
	before := cells(w.dst)
	if dimmed(w.dst) {
		w.dst = append(w.dst, codeDimOff)
	}
	w.summary(previous)
	w.entries(c.History)
	w.entries(c.Prefix)
	n := cells(w.dst)
	switch {
	case n == 0:
		return nil, 0, compact.ErrNothing
	case w.clean.lost*100 > n*lostPercent:
		return nil, 0, ErrScript
	}
	return w.dst, n - before, nil
}

func dimmed(codes []byte) bool {
	_, dim := skip(codes, len(codes), false)
	return dim
}

// summary writes the words of a compaction of another strategy. Lists that the program
// puts behind them are left out: the next entry has them again.
func (w *writer) summary(e *transcript.Entry) {
	if e == nil || strings.HasPrefix(e.Summary, guideTitle) {
		return
	}
	text, _, _ := strings.Cut(e.Summary, "\n\n=== burin ")
	text, _, _ = strings.Cut(text, "\n\n<files>")
	if w.buf = w.clean.append(w.buf[:0], text, content); len(w.buf) == 0 {
		return
	}
	if len(w.dst) > 0 {
		w.dst = append(w.dst, codeBreak)
	}
	w.dst = append(w.dst, headSummary...)
	w.dst = append(w.dst, codeBreak, ' ')
	w.dst = append(w.dst, w.buf...)
	w.dst = append(w.dst, codeBreak)
	w.dst = append(w.dst, headRecent...)
}

// grow adds codes to an archive. Where that is more than limit frames, the oldest give
// way but for the first; what still finds no frame is the text tail.
func grow(ctx context.Context, old Archive, codes []byte, s Shape, limit int) (Archive, error) {
	pinned := min(len(old.Frames), 1)
	a, err := render(ctx, codes, s, limit-pinned)
	if err != nil {
		return Archive{}, err
	}
	a.TruncatedChars += old.TruncatedChars
	evict := min(max(len(old.Frames)+len(a.Frames)-limit, 0), len(old.Frames)-pinned)
	for _, f := range old.Frames[pinned : pinned+evict] {
		a.TruncatedChars += f.Chars
	}
	kept := append([]Frame{}, old.Frames[:pinned]...)
	kept = append(kept, old.Frames[pinned+evict:]...)
	a.Frames = append(kept, a.Frames...)
	a.TruncatedChars = claimed(a.TruncatedChars)
	return a, nil
}

// preserve adds the archive to the other preserved data. It leaves out the state of a
// provider's own compaction, which is no longer valid.
func preserve(others json.RawMessage, a Archive) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(others) > 0 {
		if err := json.Unmarshal(others, &all); err != nil || all == nil {
			return nil, errors.New("what is to be kept with a compaction is not a JSON object")
		}
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("encode the pictures of the history: %w", err)
	}
	delete(all, payload)
	all["snapcompact"] = raw
	return json.Marshal(all)
}

// short is a line for people.
func (a Archive) short() string {
	chars := 0
	for _, f := range a.Frames {
		chars += f.Chars
	}
	text := fmt.Sprintf("Archived %d chars of history onto %d snapcompact frame(s)", chars, len(a.Frames))
	if a.TextTail != "" {
		var k cleaner
		text += fmt.Sprintf(" (+%d chars as text)", cells(k.append(nil, a.TextTail, printed)))
	}
	return text
}

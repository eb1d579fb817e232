package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/transcript"
)

// SummaryOptions say how a summary is made.
type SummaryOptions struct {
	Instructions string   // of the user, what to look at in particular
	Context      []string // of hooks and of the memory, as material; the first 20 count
	Keep         Keep     // if it is empty, what the previous summary kept is carried on; see Keep.Nothing
	Prompt       string   // a hook's words in place of ours for the history

	Settings    Settings // ReserveTokens bounds the summary
	Window      int      // of the model that summarizes, in tokens; 0 is 100,000
	HistoryTool string   // the tool that gives dropped entries; "" is "history"
	// Preserve is stored with the entry, for whoever made it.
	Preserve json.RawMessage
}

// Body is what a strategy makes of the part that is cut off.
type Body struct {
	Text     string          // the summary, without what the program adds
	Short    string          // two or three sentences for people; may be empty
	Preserve json.RawMessage // for the strategy itself, such as pictures of the history
}

const (
	defaultWindow = 100_000
	shortMax      = 512  // tokens of the short summary
	smallSummary  = 1024 // tokens that a summary gets however small the reserve is
	bytesPerToken = 8    // beyond that many bytes for each token allowed, an answer is cut
	noHistory     = "No prior history."
	turnHeading   = "**Turn Context (split turn):**"
)

// Summarize asks for the summary and returns a compaction to append to the planned path;
// the caller sets id, parent and time. The summary takes one request, or two for a split
// turn. The short summary takes one more; if that fails, the beginning of the long one
// serves. The error is that of ask or ctx, that the summary was empty, or that the kept
// text has more than MaxKeep bytes: then nothing was asked.
func (c *Cut) Summarize(ctx context.Context, ask Asker, o SummaryOptions) (transcript.Entry, error) {
	if err := o.Keep.check(); err != nil {
		return transcript.Entry{}, err
	}
	text, err := c.history(ctx, ask, o)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("summarize the conversation: %w", err)
	}
	if c.Split() {
		prefix, err := c.request(ctx, ask, o, request{entries: c.Prefix, words: prefixWords})
		if err != nil {
			return transcript.Entry{}, fmt.Errorf("summarize the beginning of the turn: %w", err)
		}
		text += "\n\n---\n\n" + turnHeading + "\n\n" + prefix
	}
	short, err := shortSummary(ctx, ask, o, text)
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("summarize the conversation: %w", err)
	}
	return c.Entry(Body{Text: text, Short: short, Preserve: o.Preserve}, o)
}

// history is the summary of the whole turns that are cut off. Where there are none,
// it is what the previous summary said.
func (c *Cut) history(ctx context.Context, ask Asker, o SummaryOptions) (string, error) {
	var before string
	if c.previous != nil {
		before, _ = takeApart(c.previous.Summary, keepTag(c.previous))
	}
	if !hasContent(c.History) {
		if before == "" {
			return noHistory, nil
		}
		return before, nil
	}
	words := firstWords
	if before != "" {
		words = updateWords
	}
	if o.Prompt != "" {
		words = o.Prompt
	}
	return c.request(ctx, ask, o, request{entries: c.History, before: before, context: o.Context, words: words})
}

// request is one question to the summarizer.
type request struct {
	entries []transcript.Entry
	before  string   // the summary so far
	context []string // further material
	words   string   // what is asked
}

func (c *Cut) request(ctx context.Context, ask Asker, o SummaryOptions, r request) (string, error) {
	maxTokens := o.summaryTokens()
	var tail strings.Builder
	if r.before != "" {
		tail.WriteString("\n\n<previous-summary>\n ")
		boundSummary.quote(&tail, r.before)
		tail.WriteString("\n</previous-summary>")
	}
	writeContext(&tail, r.context)
	tail.WriteString("\n\n" + strings.TrimSpace(r.words))
	if !o.Keep.empty() {
		tail.WriteString("\n\nThe goal, the pinned texts and the list of tasks are kept by the program beside your text: do not list them again.")
	}
	if s := strings.TrimSpace(o.Instructions); s != "" {
		tail.WriteString("\n\nThe person who asks for this summary adds: " + s)
	}
	room := o.room(maxTokens, c.Ratio) - textTokens(tail.String())
	prompt := conversation(r.entries, c.shortened(), max(room, smallSummary)) + tail.String()
	return answered(ctx, ask, prompt, maxTokens)
}

// answered asks and takes from the answer what is not the model's to write.
func answered(ctx context.Context, ask Asker, prompt string, maxTokens int) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	text, err := ask(ctx, strings.TrimSpace(systemWords), prompt, maxTokens)
	if err != nil {
		return "", err
	}
	limit := maxTokens * bytesPerToken
	text = disarm(clipped(text, bound{limit * 3 / 4, limit / 4}))
	if text == "" {
		return "", errNoSummary
	}
	return text, nil
}

func writeContext(b *strings.Builder, lines []string) {
	if len(lines) == 0 {
		return
	}
	b.WriteString("\n\n<additional-context>")
	for _, line := range lines[:min(len(lines), maxContext)] {
		b.WriteString("\n- ")
		boundContext.quote(b, line)
	}
	b.WriteString("\n</additional-context>")
}

// shortened gathers the prunes of the window: what the model had in short form is
// summarized in short form.
func (c *Cut) shortened() shortened {
	var s shortened
	for i := len(c.window) - 1; i >= 0; i-- {
		s.note(&c.window[i])
	}
	return s
}

func shortSummary(ctx context.Context, ask Asker, o SummaryOptions, text string) (string, error) {
	maxTokens := max(64, min(shortMax, o.reserve()/5))
	var b strings.Builder
	b.WriteString("<summary>\n ")
	boundSummary.quote(&b, text)
	b.WriteString("\n</summary>\n\n" + strings.TrimSpace(shortWords))
	short, err := answered(ctx, ask, b.String(), maxTokens)
	if err == nil {
		return short, nil
	}
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return "", err
	}
	return clipped(text, bound{200, 0}), nil // a line for people is not worth failing for
}

func (o SummaryOptions) reserve() int {
	if o.Settings.ReserveTokens > 0 {
		return o.Settings.ReserveTokens
	}
	return Defaults().ReserveTokens
}

// summaryTokens is the most a summary may take: 80 % of the reserve, and a quarter of
// the summarizer's window where that is less.
func (o SummaryOptions) summaryTokens() int {
	return max(smallSummary, min(o.reserve()*4/5, o.windowTokens()/4))
}

func (o SummaryOptions) windowTokens() int {
	if o.Window > 0 {
		return o.Window
	}
	return defaultWindow
}

// room returns how many estimated tokens a prompt may have, given the size of the answer.
// A twentieth of the window stays free for what an estimate cannot know.
func (o SummaryOptions) room(answer int, ratio float64) int {
	left := o.windowTokens()*19/20 - answer
	return int(float64(left)/max(ratio, 1)) - textTokens(systemWords)
}

// Entry makes the compaction of a body that any strategy wrote, and adds what the
// program keeps: the kept words, the files, and the list of what was dropped.
func (c *Cut) Entry(b Body, o SummaryOptions) (transcript.Entry, error) {
	d := detailsOf(c.previous)
	d.Keep = keepTag(c.previous)
	parts := []string{disarm(b.Text)}
	if parts[0] == "" {
		return transcript.Entry{}, errNoSummary
	}
	switch {
	case !o.Keep.empty():
		section, tag, err := o.Keep.section()
		if err != nil {
			return transcript.Entry{}, err
		}
		parts, d.Keep = append(parts, section), tag
	case o.Keep.Nothing:
		d.Keep = ""
	case d.Keep != "":
		if _, section := takeApart(c.previous.Summary, d.Keep); section != "" {
			parts = append(parts, section)
		} else {
			d.Keep = ""
		}
	}
	files := newFileSet()
	files.merge(d)
	files.addAll(c.History)
	files.addAll(c.Prefix)
	if list := files.list(); list != "" {
		parts = append(parts, list)
	}
	tool := o.HistoryTool
	if tool == "" {
		tool = "history"
	}
	if list := dropped(c.path, tool); list != "" {
		parts = append(parts, list)
	}
	all := files.details()
	all.Keep = d.Keep
	raw, err := all.encode()
	if err != nil {
		return transcript.Entry{}, fmt.Errorf("encode the details of a compaction: %w", err)
	}
	return transcript.Entry{
		Type: transcript.TypeCompaction, Summary: strings.Join(parts, "\n\n"), ShortSummary: disarm(b.Short),
		FirstKeptID: c.FirstKeptID(), TokensBefore: c.tokensBefore(), Details: raw, PreserveData: b.Preserve,
	}, nil
}

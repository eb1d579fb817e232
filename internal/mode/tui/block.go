package tui

import (
	"encoding/json"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/burin-dev/burin/internal/mode/tui/card"
	"github.com/burin-dev/burin/internal/mode/tui/markdown"
	"github.com/burin-dev/burin/internal/mode/tui/picture"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
)

// look is how blocks are shown: that of cards, and what the person has chosen to see.
type look struct {
	card.View
	HideThinking bool
	// version changes with everything but the width, so that blocks know when what they
	// have rendered is of no use.
	version int
}

// kind says what a block is, for the gaps between blocks.
type kind uint8

const (
	said kind = iota // by the person or the model
	did              // calls and thinking, which stand close together
	told             // notices
)

// block is a piece of the conversation that is not yet in the scrollback, or not all of
// it.
type block interface {
	kind() kind
	// rows gives the lines that are left, and how many of them, from the first on, will
	// never change. The result is good until the next call.
	rows(v look) (lines []string, final int)
	// drop forgets the lines that are final: they are in the scrollback.
	drop()
	// done reports whether nothing can change any more: all lines are final.
	done() bool
}

// fixed is a block that does not change.
type fixed struct {
	k      kind
	render func(v card.View) []string
	memory
}

func (b *fixed) kind() kind { return b.k }

func (b *fixed) rows(v look) ([]string, int) {
	lines := b.recall(v, 0, func() []string { return b.render(v.View) })
	return lines, len(lines)
}

func (b *fixed) done() bool { return true }

func (b *fixed) drop() { b.lines = nil }

// failure is an answer that failed. It is held until it is known whether the same is
// tried again.
type failure struct {
	words   string
	partial bool // a piece of the answer came
	held    bool
	gone    bool // it was tried again, and nothing has to say so
	again   bool // it was tried again
	stopped bool // and that was stopped before it began
	memory
}

// maxReason is how many cells the reason has that stays behind a piece of an answer.
const maxReason = 60

func newFailure(m *llm.Message) *failure {
	b := &failure{words: m.Error.Error(), held: true}
	for _, c := range m.Content {
		switch c := c.(type) {
		case llm.Text:
			b.partial = b.partial || strings.TrimSpace(c.Text) != ""
		default:
			b.partial = true
		}
	}
	return b
}

func (b *failure) kind() kind { return told }

func (b *failure) rows(v look) ([]string, int) {
	if b.gone {
		return nil, 0
	}
	state := 0
	if b.again {
		state = 1
	}
	if b.stopped {
		state = 2
	}
	lines := b.recall(v, state, func() []string {
		short := "broke off: " + ansi.Truncate(prose.Line(b.words), maxReason, v.Styles.Symbols().Ellipsis)
		switch state {
		case 0:
			return card.Notice(card.Failure, b.words, v.View)
		case 1:
			return card.Notice(card.Info, short+"; tried again", v.View)
		}
		return card.Notice(card.Info, short, v.View)
	})
	if b.held {
		return lines, 0
	}
	return lines, len(lines)
}

func (b *failure) drop() { b.lines = nil }

func (b *failure) done() bool { return !b.held }

// memory keeps what a block has rendered.
type memory struct {
	lines                 []string
	width, version, state int
	valid                 bool
}

// recall gives the lines of before, or renders them anew where the view or the state of
// the block has changed.
func (m *memory) recall(v look, state int, render func() []string) []string {
	if !m.valid || m.width != v.Width || m.version != v.version || m.state != state {
		m.lines = render()
		m.width, m.version, m.state, m.valid = v.Width, v.version, state, true
	}
	return m.lines
}

// answerText is what the model says.
type answerText struct {
	stream *markdown.Stream
	got    map[int]int  // bytes that were written of each text in it, by index of the content
	ended  map[int]bool // those that are whole
	closed bool
}

func newAnswerText(v look) *answerText {
	return &answerText{got: map[int]int{}, ended: map[int]bool{}, stream: markdown.New(markdown.Options{Styles: v.Styles, Links: v.Links})}
}

func (b *answerText) kind() kind { return said }

func (b *answerText) write(index int, delta string) {
	b.stream.Write(delta)
	b.got[index] += len(delta)
}

// end says that a text is whole. The next one may continue its paragraph.
func (b *answerText) end(index int) { b.ended[index] = true }

// maxJoined is how many bytes a text has at most that the next one may continue: what a
// vendor splits for its citations are sentences.
const maxJoined = 16 << 10

// mayGoOn reports whether the next text may continue the paragraph of this one.
func (b *answerText) mayGoOn() bool {
	n := 0
	for _, got := range b.got {
		n += got
	}
	return !b.closed && n <= maxJoined
}

func (b *answerText) close() {
	b.stream.Close()
	b.closed = true
}

func (b *answerText) rows(v look) ([]string, int) {
	lines := b.stream.Lines(v.Width)
	return lines, b.stream.Stable()
}

func (b *answerText) drop() { b.stream.Drop() }

func (b *answerText) done() bool { return b.closed }

// maxLiveThinking is how many bytes of thinking that is under way are looked at for each
// frame.
const maxLiveThinking = 8 << 10

// thought is what the model thinks. It is one line while it is collapsed.
type thought struct {
	text   strings.Builder
	closed bool
	gone   bool
	memory
}

func (b *thought) kind() kind { return did }

func (b *thought) rows(v look) ([]string, int) {
	if b.gone || v.HideThinking {
		return nil, 0
	}
	state := b.text.Len()
	if b.closed {
		state = -1
	}
	lines := b.recall(v, state, func() []string {
		text := b.text.String()
		if !b.closed && len(text) > maxLiveThinking {
			if v.Expanded {
				text = text[len(text)-maxLiveThinking:]
				text = text[strings.IndexByte(text, '\n')+1:]
			} else {
				text = text[:maxLiveThinking]
			}
		}
		return card.Thinking(text, v.View)
	})
	if b.closed {
		return lines, len(lines)
	}
	return lines, 0
}

func (b *thought) drop() {
	if b.closed {
		b.gone = true
		b.lines = nil
		b.text.Reset()
	}
}

func (b *thought) done() bool { return b.closed }

// call is a call of a tool. It stays until its result is there.
type call struct {
	id   string
	card card.Call
	args []byte // as they are written
	// shown is how much of the arguments the lines were made of: arguments that grow are
	// rendered again when they have grown by a part, so that a long file that is being
	// written costs the same all the way.
	shown   int
	ended   bool
	gone    bool
	brief   bool // one line: a question shows the rest
	changes int
	memory
}

func (b *call) kind() kind { return did }

// write adds a piece of arguments.
func (b *call) write(delta string) {
	b.args = append(b.args, delta...)
	if len(b.args)-b.shown >= 64+b.shown/8 {
		b.shown = len(b.args)
		b.card.Args = json.RawMessage(b.args[:b.shown:b.shown])
		b.changes++
	}
}

// update says what became of the call.
func (b *call) update(change func(*card.Call)) {
	change(&b.card)
	b.changes++
}

// result is how the call ended.
func (b *call) result(failed bool, content []llm.Block, details json.RawMessage) {
	b.update(func(c *card.Call) {
		c.State, c.Content, c.Details = card.Done, content, details
		if failed {
			c.State = card.Failed
		}
	})
	b.ended = true
}

func (b *call) rows(v look) ([]string, int) {
	if b.gone {
		return nil, 0
	}
	lines := b.recall(v, b.changes, func() []string { return card.Tool(b.card, v.View) })
	if b.ended {
		return lines, len(lines)
	}
	if b.brief {
		lines = lines[:min(len(lines), 1)]
	}
	return lines, 0
}

func (b *call) drop() {
	if b.ended {
		b.gone = true
		b.lines, b.card, b.args = nil, card.Call{}, nil
	}
}

func (b *call) done() bool { return b.ended }

// shownPicture is a picture for a terminal that can show it. It waits until it is ready.
type shownPicture struct {
	img     llm.Image
	picture picture.Picture
	ready   bool
	memory
}

func (b *shownPicture) kind() kind { return did }

func (b *shownPicture) rows(v look) ([]string, int) {
	lines := b.recall(v, 0, func() []string { return card.Image(b.img, v.View) })
	if b.ready {
		return lines, len(lines)
	}
	return lines, 0
}

func (b *shownPicture) drop() { b.lines, b.img = nil, llm.Image{} }

func (b *shownPicture) done() bool { return b.ready }

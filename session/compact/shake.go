package compact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// shakeBlock is how many tokens a fenced or tagged block must have to be taken out.
const shakeBlock = 400

// region is a piece that goes to the artifact.
type region struct {
	entry  int // index in the path
	block  int // index of the text block it is in; -1: the whole content of a result
	from   int // bytes of that text
	to     int
	label  string
	text   string
	tokens int
}

// Shake takes bulky pieces out without a model: whole results of tools, and fenced or
// tagged blocks of 400 tokens or more in what people and models said. The originals
// go, as numbered regions, to one artifact; put stores it and gives the address by which
// the model can read it. The newest 16,000 tokens of the conversation stay, and less
// than 4,000 saved is not worth it; the user who asks for it sets Protect and MinSavings
// below 0. Skills and plans stay. It is for a window that needs the room, so the cache
// does not count. It gives nil if there is nothing to gain. The error is that of put.
func Shake(path []transcript.Entry, o PruneOptions, put func(kind, text string) (ref string, err error)) (*transcript.Prune, error) {
	v := outputsOf(path)
	var regions []region
	saved, passed := 0, 0
	protect := or(o.Protect, protectShake)
	for i := len(path) - 1; i >= v.start; i-- {
		inside := passed < protect
		passed += v.short.tokens(&path[i])
		if inside {
			continue
		}
		found := v.regions(i, o.Plans)
		for _, r := range found {
			saved += r.tokens - minPrune // about what stands in its place
		}
		slices.Reverse(found)
		regions = append(regions, found...)
	}
	if len(regions) == 0 || saved <= 0 || saved < or(o.MinSavings, minShake) {
		return nil, nil
	}
	slices.Reverse(regions)
	var b strings.Builder
	for k, r := range regions {
		fmt.Fprintf(&b, "### region %d (%s, ~%d tok)\n\n%s\n\n", k+1, r.label, r.tokens, r.text)
	}
	ref, err := put(ReasonShake, b.String())
	if err != nil {
		return nil, fmt.Errorf("keep what is shaken out: %w", err)
	}
	return shaken(path, regions, ref), nil
}

// regions finds what can be taken out of an entry, in order.
func (v *outputs) regions(i int, plans []string) []region {
	e := &v.path[i]
	if e.Type != transcript.TypeMessage || !v.whole(i) {
		return nil
	}
	switch kindOf(e) {
	case result:
		if v.protected(i, plans) {
			return nil
		}
		text := textOf(e.Message.Content)
		if n := textTokens(text); n > 2*minPrune && len(text) > 0 && onlyText(e.Message) {
			return []region{{entry: i, block: -1, label: clean(e.Message.ToolName, 40), text: text, tokens: n}}
		}
	case answer, said:
		var found []region
		for k, b := range e.Message.Content {
			t, ok := b.(llm.Text)
			if !ok {
				continue
			}
			for _, s := range bulkyBlocks(t.Text) {
				r := region{entry: i, block: k, from: s.from, to: s.to, label: s.label, text: t.Text[s.from:s.to]}
				if r.tokens = textTokens(r.text); r.tokens >= shakeBlock {
					found = append(found, r)
				}
			}
		}
		return found
	}
	return nil
}

// onlyText reports whether a result can be kept as text; pictures cannot.
func onlyText(m *llm.Message) bool {
	return !slices.ContainsFunc(m.Content, func(b llm.Block) bool { _, ok := b.(llm.Text); return !ok })
}

// shaken puts a note in place of each region.
func shaken(path []transcript.Entry, regions []region, ref string) *transcript.Prune {
	p := &transcript.Prune{Reason: ReasonShake}
	for k := 0; k < len(regions); {
		first := regions[k]
		if first.block < 0 {
			p.Entries = append(p.Entries, transcript.Short{EntryID: path[first.entry].ID, Text: regionNote(first, ref, k+1)})
			k++
			continue
		}
		whole := path[first.entry].Message.Content[first.block].(llm.Text).Text
		var b strings.Builder
		last := 0
		for k < len(regions) && regions[k].entry == first.entry && regions[k].block == first.block {
			b.WriteString(whole[last:regions[k].from] + regionNote(regions[k], ref, k+1))
			last = regions[k].to
			k++
		}
		b.WriteString(whole[last:])
		block := first.block
		p.Entries = append(p.Entries, transcript.Short{EntryID: path[first.entry].ID, Text: b.String(), Block: &block})
	}
	return p
}

func regionNote(r region, ref string, k int) string {
	return fmt.Sprintf("[~%d tokens were moved to %s, region %d]", r.tokens, ref, k)
}

// piece is a block within a text.
type piece struct {
	from, to int
	label    string
}

// bulkyBlocks finds fenced blocks, and blocks between a line <tag> and a line </tag>,
// with their borders. An unclosed block does not count.
func bulkyBlocks(s string) []piece {
	var found []piece
	var end func(line string) bool // of the block that is open
	var open piece
	at := 0
	for line := range strings.Lines(s) {
		from := at
		at += len(line)
		text := strings.TrimSpace(line)
		if end == nil {
			open = piece{from: from}
			open.label, end = opening(text)
			continue
		}
		if end(text) {
			open.to = from + len(strings.TrimRight(line, "\r\n"))
			found = append(found, open)
			end = nil
		}
	}
	return found
}

// opening says what a line begins, and how to know its end; nil if nothing.
func opening(line string) (label string, end func(string) bool) {
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, mark) {
			return "fenced block", func(l string) bool { return len(l) >= n && strings.Trim(l, mark) == "" }
		}
	}
	if len(line) < 3 || line[0] != '<' || line[len(line)-1] != '>' || strings.HasSuffix(line, "/>") {
		return "", nil
	}
	name, _, _ := strings.Cut(line[1:len(line)-1], " ")
	if name == "" || strings.ContainsAny(name, "<>/!?\"'") {
		return "", nil
	}
	return "<" + clean(name, 40) + "> block", func(l string) bool { return l == "</"+name+">" }
}

package compact

import (
	"errors"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// PlanOptions say how much is to stay.
type PlanOptions struct {
	Settings Settings
	Window   int // of the model that continues, in tokens; 0 is unknown
	// Ratio is how many real tokens one estimated token is. 0: measured by what the
	// provider counted between answers near the end of the path. Below 1 counts as 1.
	Ratio float64
	// Tokens is how large the context is now. 0: what the provider counted for the last
	// answer, and an estimate of what came after.
	Tokens int
}

// Cut divides what the model gets now. History and Prefix are to be summarized, Kept
// stays; together they are the window of the path, in order. The slices are parts of
// the path that was planned.
type Cut struct {
	History []transcript.Entry // whole turns
	Prefix  []transcript.Entry // the beginning of a turn that continues in Kept; empty unless the turn is split
	Kept    []transcript.Entry
	Ratio   float64 // real tokens for an estimated one, at least 1

	path     []transcript.Entry // from the root to before Kept
	previous *transcript.Entry  // the compaction before this one
	before   int                // tokens, as the caller knows them; 0 if they must be found
	window   []transcript.Entry // all that the model gets
	fresh    []transcript.Entry // the part of it that came after the last compaction
}

// FirstKeptID is the id of the first entry that stays.
func (c *Cut) FirstKeptID() string { return c.Kept[0].ID }

// Frees is about how many tokens a compaction takes off, before its summary is there.
func (c *Cut) Frees() int {
	short := c.shortened()
	n := 0
	for _, entries := range [][]transcript.Entry{c.History, c.Prefix} {
		for i := range entries {
			n += short.tokens(&entries[i])
		}
	}
	return int(float64(n) * c.Ratio)
}

// Split reports whether the cut goes through a turn.
func (c *Cut) Split() bool { return len(c.Prefix) > 0 }

// Plan finds where to cut a path so that about KeepRecentTokens stay, at most half
// of the threshold of the window. It looks only as far back as that, and for the
// last compaction.
//
// The cut is before something said or an answer, never between a call and its
// results. Of several places it is the first at which enough stays. Where that would be
// more than half too much, because of one very large message, it is the place behind it;
// so it is behind results that have begun to be too much, if half of what should stay
// does without them. Entries that the model
// does not read stay with what they stand before. If the cut is not at the beginning
// of a turn, that turn is split. The error is [ErrNothing] if the last entry that
// counts is a compaction, or if all of it is recent.
func Plan(path []transcript.Entry, o PlanOptions) (*Cut, error) {
	w := windowOf(path)
	if w.previous >= 0 && !hasContent(path[w.previous+1:]) {
		return nil, ErrNothing
	}
	keep := o.keep()
	ratio := max(o.Ratio, 1)
	if o.Ratio <= 0 {
		ratio = measure(path[w.start:], keep)
	}
	at, ok := cutPoint(path, w.start, int(float64(keep)/ratio))
	if !ok {
		return nil, ErrNothing
	}
	for at > w.start && kindOf(&path[at-1]) == aside && path[at-1].Type != transcript.TypeCompaction {
		at--
	}
	if !hasContent(path[w.start:at]) {
		return nil, ErrNothing
	}
	c := &Cut{
		History: path[w.start:at], Kept: path[at:], Ratio: ratio,
		path: path[:at], window: path[w.start:], fresh: path[max(w.start, w.previous+1):], before: o.Tokens,
	}
	if w.previous >= 0 {
		c.previous = &path[w.previous]
	}
	if c.FirstKeptID() == "" {
		return nil, errors.New("plan a compaction: the first entry to keep has no id")
	}
	if turn, split := turnStart(path, w.start, at); split {
		c.History, c.Prefix = path[w.start:turn], path[turn:at]
	}
	return c, nil
}

// keep is how many real tokens are to stay.
func (o PlanOptions) keep() int {
	keep := max(o.Settings.KeepRecentTokens, 1)
	if o.Window <= 0 {
		return keep
	}
	limit := o.Settings.Threshold(o.Window)
	if limit == 0 { // by hand, where nothing happens by itself
		limit = o.Window
	}
	return max(1, min(keep, limit/2))
}

// cutPoint is the index at which the kept part begins; ok is false if everything
// should stay, or has to.
func cutPoint(path []transcript.Entry, start, keep int) (at int, ok bool) {
	var short shortened
	sum, best, atBest := 0, -1, 0
	owing := false // results were passed whose answer was not
	for i := len(path) - 1; i >= start; i-- {
		e := &path[i]
		short.note(e)
		k := kindOf(e)
		if k == aside {
			continue
		}
		sum += short.tokens(e)
		free := false
		switch k {
		case result:
			owing = true
		case answer:
			owing, free = false, true
		case said:
			free = !owing
		}
		tooMuch := sum > keep+keep/2
		switch {
		case sum < keep:
			if free {
				best, atBest = i, sum
			}
		case free && (best < 0 || !tooMuch):
			return i, true
		case best >= 0 && (tooMuch || atBest >= keep/2):
			return best, true
		}
	}
	return 0, false
}

// turnStart is where the turn that at cuts began; ok is false if at is the beginning
// of one, or if it began before the window: then what is left of it is history.
func turnStart(path []transcript.Entry, start, at int) (turn int, ok bool) {
	first := at
	for first < len(path) && kindOf(&path[first]) == aside {
		first++
	}
	if first < len(path) && kindOf(&path[first]) == said {
		return 0, false
	}
	for i := at - 1; i >= start; i-- {
		if kindOf(&path[i]) == said {
			return i, true
		}
	}
	return 0, false
}

func hasContent(entries []transcript.Entry) bool {
	for i := range entries {
		if kindOf(&entries[i]) != aside {
			return true
		}
	}
	return false
}

const (
	measureSpan = 2000 // estimated tokens between two answers from which on their ratio means something
	maxRatio    = 4.0  // more is no tokenizer but something else, as pictures of unusual size
)

// measure compares what the provider counted with the estimate. The difference between
// the prompts of two answers is what stands between them, so that neither system
// prompt nor tools count. Answers of different models and spans with a prune are not
// compared, and it looks no further back than about keep tokens.
func measure(window []transcript.Entry, keep int) float64 {
	var whole shortened // a request before a prune had everything
	var last *llm.Message
	ratio := 1.0
	between, all := 0, 0
	for i := len(window) - 1; i >= 0 && all < keep; i-- {
		e := &window[i]
		if e.Type == transcript.TypeCompaction {
			break
		}
		n := whole.tokens(e)
		all += n
		between += n
		m := e.Message
		if e.Type == transcript.TypeCustom && e.CustomType == transcript.CustomPrune {
			last, between = nil, 0
		}
		if kindOf(e) != answer || m.Usage == nil || m.Usage.Prompt() == 0 {
			continue
		}
		switch {
		case last == nil || last.Model != m.Model || last.Provider != m.Provider:
			last, between = m, 0
		case between >= measureSpan:
			real := last.Usage.Prompt() - m.Usage.Prompt()
			ratio = min(max(float64(real)/float64(between), 1), maxRatio)
		}
	}
	return ratio
}

// counted is the size of the context by the last answer that was counted, which
// must stand behind the last compaction; 0 if there is none.
func counted(entries []transcript.Entry) int {
	var short shortened
	after := 0
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		short.note(e)
		if kindOf(e) == answer && e.Message.Usage != nil && e.Message.Usage.Prompt() > 0 {
			return e.Message.Usage.Context() + after
		}
		after += short.tokens(e)
	}
	return 0
}

// tokensBefore is the size of the context that was cut.
func (c *Cut) tokensBefore() int {
	if c.before > 0 {
		return c.before
	}
	if n := counted(c.fresh); n > 0 {
		return n
	}
	n := 0
	if c.previous != nil {
		n = messageTokens + textTokens(c.previous.Summary)
	}
	var short shortened
	for i := len(c.window) - 1; i >= 0; i-- {
		short.note(&c.window[i])
		n += short.tokens(&c.window[i])
	}
	return int(float64(n) * c.Ratio)
}

package compact

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

// Reasons of a prune.
const (
	ReasonSuperseded = "superseded"
	ReasonOld        = "old"
	ReasonShake      = "shake"
	ReasonRefused    = "refused" // attachments that a provider did not accept
)

// PruneOptions say what may be shortened.
type PruneOptions struct {
	Cache Cache
	// Protect is how many tokens of the newest outputs stay as they are: 0 is the
	// default of each prune, below 0 is none.
	Protect int
	// MinSavings is how many tokens must be gained, or nothing is done: 0 is the
	// default of each prune, below 0 is any.
	MinSavings int
	Plans      []string // files whose reads are never shortened, such as the active plan
	// HistoryTool is the tool that gives the whole of an entry; "" is "history".
	HistoryTool string
}

const (
	protectOld, minOld     = 40_000, 20_000
	protectShake, minShake = 16_000, 4_000
	minPrune               = 40 // tokens that a single prune must save
)

// or returns n, the default d where n is 0, and 0 where n is below it.
func or(n, d int) int {
	switch {
	case n < 0:
		return 0
	case n == 0:
		return d
	}
	return n
}

// outputs are the results in the window of a path, for prunes.
type outputs struct {
	path  []transcript.Entry
	start int
	short shortened
	calls map[int]llm.ToolCall // by index of the result: the call it answers
}

func outputsOf(path []transcript.Entry) *outputs {
	w := windowOf(path)
	v := &outputs{path: path, start: w.start, calls: map[int]llm.ToolCall{}}
	for i := len(path) - 1; i >= w.start; i-- {
		v.short.note(&path[i])
	}
	var open []llm.ToolCall // of the answer before; ids may come again in later ones
	for i := w.start; i < len(path); i++ {
		switch e := &path[i]; kindOf(e) {
		case answer:
			open = e.Message.ToolCalls()
		case result:
			at := slices.IndexFunc(open, func(c llm.ToolCall) bool { return c.ID == e.Message.ToolCallID })
			if at >= 0 {
				v.calls[i] = open[at]
			}
		}
	}
	return v
}

// whole reports whether nothing was pruned of the entry yet.
func (v *outputs) whole(i int) bool { return len(v.short[v.path[i].ID]) == 0 }

// file is what the call behind a result reads or writes: a path and a selector.
func (v *outputs) file(i int) (name, selector string) {
	c, ok := v.calls[i]
	if !ok || (c.Name != "read" && c.Name != "write") {
		return "", ""
	}
	paths := callPaths(c)
	if len(paths) == 0 {
		return "", ""
	}
	name, selector = splitSelector(paths[0])
	if !strings.Contains(name, "://") {
		name = path.Clean(name)
	}
	return name, selector
}

// protected reports whether a result must stay: skills and plans are instructions, not
// outputs.
func (v *outputs) protected(i int, plans []string) bool {
	if v.path[i].Message.ToolName == "skill" {
		return true
	}
	name, _ := v.file(i)
	return strings.HasPrefix(name, "skill://") ||
		name != "" && slices.ContainsFunc(plans, func(p string) bool { return p == name || path.Clean(p) == name })
}

// candidate is a message that could be shortened.
type candidate struct {
	short transcript.Short
	saved int // tokens
	after int // tokens from it to the end, before anything is shortened
}

// choose takes the candidates, newest first, as far back as the gain grows: going
// further back saves more and makes more of the cache void. It gives nil if it does
// not pay, or saves less than least.
func choose(all []candidate, c Cache, least int) []candidate {
	saved, best, n := 0, 0.0, 0
	for i, k := range all {
		saved += k.saved
		gain := c.gain(saved, k.after-saved)
		if c.free() {
			gain = float64(saved)
		}
		if saved >= least && gain > best {
			best, n = gain, i+1
		}
	}
	return all[:n]
}

// prune makes the record; nil if there is nothing in it.
func prune(reason string, chosen []candidate) *transcript.Prune {
	if len(chosen) == 0 {
		return nil
	}
	p := &transcript.Prune{Reason: reason}
	for _, k := range slices.Backward(chosen) {
		p.Entries = append(p.Entries, k.short)
	}
	return p
}

// Superseded finds reads of files that a newer read of the same file and range, or of
// the whole file, or a write of the whole file by the model has made stale. Failed
// calls make nothing stale, an edit does not either, and a newer read that was cut
// does so only for the same range. Addresses with a scheme are left alone. It gives
// nil unless that pays; Protect is not used.
func Superseded(path []transcript.Entry, o PruneOptions) *transcript.Prune {
	v := outputsOf(path)
	var all []candidate
	newer := map[string]string{} // by path and selector: what made it stale
	after := 0
	for i := len(path) - 1; i >= v.start; i-- {
		e := &path[i]
		tokens := v.short.tokens(e)
		after += tokens
		if kindOf(e) != result || e.Message.IsError {
			continue
		}
		name, selector := v.file(i)
		if name == "" || strings.Contains(name, "://") {
			continue
		}
		if v.calls[i].Name == "write" {
			if !strings.Contains(name[min(len(name), 2):], ":") { // a member of an archive, a row: not a whole file
				newer[name+"\x00*"] = "the file was written as a whole later"
			}
			continue
		}
		why := newer[name+"\x00*"]
		if why == "" {
			why = newer[name+"\x00"+selector]
		}
		if why == "" {
			key := name + "\x00" + selector
			if selector == "" && !wasCut(e.Message) {
				key = name + "\x00*"
			}
			newer[key] = "it was read again later"
			continue
		}
		if !v.whole(i) || v.protected(i, o.Plans) {
			continue
		}
		text := "[Stale, and left out: " + why + ".]"
		if saved := tokens - messageTokens - textTokens(text); saved >= minPrune {
			all = append(all, candidate{transcript.Short{EntryID: e.ID, Text: text}, saved, after})
		}
	}
	return prune(ReasonSuperseded, choose(all, o.Cache, or(o.MinSavings, 1)))
}

// wasCut reports whether a result shows only a part of what was asked for.
func wasCut(m *llm.Message) bool {
	d := string(m.Details)
	return strings.Contains(d, `"truncated":true`) || strings.Contains(d, `"truncation":{`)
}

// Old finds outputs of tools beyond the newest 40,000 tokens of them, if shortening
// them saves 20,000 or more, and pays. Skills and plans stay. The outputs can be had
// again by the id of their entry.
func Old(path []transcript.Entry, o PruneOptions) *transcript.Prune {
	v := outputsOf(path)
	protect := or(o.Protect, protectOld)
	var all []candidate
	after, newest := 0, 0
	for i := len(path) - 1; i >= v.start; i-- {
		e := &path[i]
		tokens := v.short.tokens(e)
		after += tokens
		if kindOf(e) != result {
			continue
		}
		inside := newest < protect // the one at the border stays: it may be all there is
		newest += tokens
		if inside || !v.whole(i) || v.protected(i, o.Plans) {
			continue
		}
		text := fmt.Sprintf("[Old output of ~%d tokens, left out. The tool %s gives it: id %s]", tokens, o.tool(), e.ID)
		if saved := tokens - messageTokens - textTokens(text); saved >= minPrune {
			all = append(all, candidate{transcript.Short{EntryID: e.ID, Text: text}, saved, after})
		}
	}
	return prune(ReasonOld, choose(all, o.Cache, or(o.MinSavings, minOld)))
}

func (o PruneOptions) tool() string {
	if o.HistoryTool == "" {
		return "history"
	}
	return o.HistoryTool
}

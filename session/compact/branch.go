package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/burin-dev/burin/transcript"
)

const (
	branchTokens   = 2048 // of the summary of a branch
	branchPreamble = "This branch was left for another. Nothing of it stands in the conversation but this summary.\n\n"
)

// BranchSummary summarizes entries that are left behind when the user goes elsewhere
// in the tree. The newest count most: they are taken until budgetTokens, which is
// the summarizer's window less what it needs for its answer; 0 is 100,000. Earlier
// summaries among them may still be taken near the end of the budget. Instructions
// of the user take the place of ours. The error is [ErrNothing], or that of ask.
func BranchSummary(ctx context.Context, abandoned []transcript.Entry, budgetTokens int, ask Asker, instructions string) (summary string, details json.RawMessage, err error) {
	if budgetTokens <= 0 {
		budgetTokens = defaultWindow
	}
	words := strings.TrimSpace(branchWords)
	if s := strings.TrimSpace(instructions); s != "" {
		words = s
	}
	text, found := branchText(abandoned, budgetTokens-textTokens(words)-textTokens(systemWords))
	if !found {
		return "", nil, ErrNothing
	}
	summary, err = answered(ctx, ask, text+"\n\n"+words, branchTokens)
	if err != nil {
		return "", nil, fmt.Errorf("summarize the branch: %w", err)
	}
	files := newFileSet()
	files.addAll(abandoned)
	summary = branchPreamble + summary
	if list := files.list(); list != "" {
		summary += "\n\n" + list
	}
	details, err = files.details().encode()
	if err != nil {
		return "", nil, fmt.Errorf("encode the details of a branch summary: %w", err)
	}
	return summary, details, nil
}

// branchText writes entries as a conversation of at most budget tokens. A summary of
// what came before it is worth more than what it stands for, so one may go over the
// budget while less than nine tenths of it are used.
func branchText(entries []transcript.Entry, budget int) (text string, found bool) {
	var short shortened
	used := 0
	first := len(entries) // from here on entries are taken
	for i := len(entries) - 1; i >= 0; i-- {
		e := &entries[i]
		short.note(e)
		p := branchPart(e, short)
		if p == "" {
			continue
		}
		n := textTokens(p)
		summary := e.Type == transcript.TypeCompaction || e.Type == transcript.TypeBranchSummary
		if used+n > budget && !(summary && used < budget*9/10) {
			break
		}
		used += n
		first = i
	}
	var b strings.Builder
	b.WriteString("<conversation>\n")
	if n := count(entries[:first]); n > 0 && first < len(entries) {
		fmt.Fprintf(&b, "[%d earlier messages are left out: they did not fit]\n\n", n)
	}
	for i := first; i < len(entries); i++ {
		if p := branchPart(&entries[i], short); p != "" {
			b.WriteString(p + "\n\n")
		}
	}
	b.WriteString("</conversation>")
	return b.String(), first < len(entries)
}

// branchPart is an entry of a branch; a compaction on it counts like a message.
func branchPart(e *transcript.Entry, short shortened) string {
	if e.Type != transcript.TypeCompaction {
		return entryText(e, short)
	}
	prose, _ := takeApart(e.Summary, keepTag(e))
	var b strings.Builder
	part(&b, "Summary of what came before", boundSummary, prose)
	return b.String()
}

package review

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

const (
	perBatch = 6      // findings that one agent verifies
	maxShown = 40_000 // bytes of the diff that it is shown
	longFile = 200    // changed lines from which on only those around findings are shown
	doubtful = 0.5    // confidence of an unclear finding, at most
)

// verdictSchema is the JSON schema of what an agent that verifies hands over.
func verdictSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdicts"],"properties":{"verdicts":{
"type":"array","description":"one for each finding","items":{"type":"object","additionalProperties":false,"required":["id","verdict","confidence","reason"],"properties":{
"id":{"type":"integer","description":"of the finding"},
"verdict":{"type":"string","enum":["confirmed","unclear","refuted"]},
"severity":{"type":"string","enum":["P0","P1","P2","P3"]},
"confidence":{"type":"number","minimum":0,"maximum":1,"description":"that it is real"},
"reason":{"type":"string"}}}}}}`)
}

type verdict struct {
	ID         int      `json:"id"`
	Verdict    string   `json:"verdict"`
	Severity   Severity `json:"severity"`
	Confidence float64  `json:"confidence"`
	Reason     string   `json:"reason"`
}

// verify has findings verified, a few by each agent, those of one file together.
func (r *Review) verify(ctx context.Context, run Run, found []Finding) error {
	if len(found) == 0 {
		return nil
	}
	sorting.Stable(found, func(a, b Finding) int { return strings.Compare(a.File, b.File) })
	_, kind := Kinds()
	var orders []Order
	batches := slices.Collect(slices.Chunk(found, perBatch))
	for i, batch := range batches {
		orders = append(orders, Order{fmt.Sprintf("verify-%d", i+1), "verify " + prose.Count(len(batch), "finding"), r.toVerify(batch)})
	}
	r.o.Tell(fmt.Sprintf("%s verify %s", prose.Count(len(orders), "agent"), prose.Count(len(found), "finding")))
	answers, err := r.ask(ctx, run, kind, orders)
	if err != nil {
		return err
	}
	for i, batch := range batches {
		var out struct{ Verdicts []verdict }
		a := answers[i]
		if a.Error == "" && json.Unmarshal(a.Output, &out) != nil {
			a.Error = "it handed over no verdicts that can be read"
		}
		if a.Error != "" {
			r.note("not verified: %s (%s)", prose.Count(len(batch), "finding"), prose.Short(prose.Line(a.Error), 300))
		}
		for j := range batch {
			f := &batch[j]
			at := slices.IndexFunc(out.Verdicts, func(v verdict) bool { return v.ID == j+1 })
			if at >= 0 {
				r.judge(f, &out.Verdicts[at])
			}
			if f.Verdict == Refuted {
				r.report.Refuted = append(r.report.Refuted, *f)
			} else {
				r.report.Findings = append(r.report.Findings, *f)
			}
		}
	}
	return nil
}

// judge changes a finding as its verdict says.
func (r *Review) judge(f *Finding, v *verdict) {
	f.Verdict, f.Reason = v.Verdict, r.o.Hide(text(v.Reason))
	if slices.Contains(Severities(), v.Severity) {
		f.Severity = v.Severity
	}
	switch v.Verdict {
	case Confirmed, Refuted:
		f.Confidence = fraction(v.Confidence)
	default:
		f.Verdict = Unclear
		f.Confidence = min(f.Confidence, fraction(v.Confidence), doubtful)
		if v.Severity == "" {
			f.Severity = f.Severity.lower()
		}
	}
}

// toVerify is what an agent that verifies is given. The findings are numbered from 1.
func (r *Review) toVerify(batch []Finding) string {
	type shown struct {
		ID          int      `json:"id"`
		File        string   `json:"file"`
		Line        int      `json:"line"`
		EndLine     int      `json:"endLine"`
		Severity    Severity `json:"severity"`
		Title       string   `json:"title"`
		Explanation string   `json:"explanation"`
		Suggestion  string   `json:"suggestion,omitempty"`
	}
	var b strings.Builder
	b.WriteString("Verify these findings.\n\n")
	r.place(&b)
	var names []string
	for i, f := range batch {
		raw, err := json.Marshal(shown{i + 1, f.File, f.Line, f.EndLine, f.Severity, f.Title, f.Explanation, f.Suggestion})
		if err != nil {
			panic(err) // it holds nothing but text and numbers
		}
		b.Write(append(raw, '\n'))
		if !slices.Contains(names, f.File) {
			names = append(names, f.File)
		}
	}
	b.WriteString("\nThe changes of these files, with the line numbers after them:\n\n")
	var diff strings.Builder
	for _, name := range names {
		f := r.file(name)
		if f == nil {
			fmt.Fprintf(&diff, "=== %s (not changed)\n", prose.Inline(name))
			continue
		}
		diff.WriteString(f.head())
		long := f.added+f.removed > longFile
		for i := range f.hunks {
			h := &f.hunks[i]
			if long && !slices.ContainsFunc(batch, func(x Finding) bool {
				return x.File == name && x.EndLine >= h.first-longFile/10 && x.Line <= h.first+h.n+longFile/10
			}) {
				continue
			}
			h.show(&diff)
		}
	}
	text := diff.String()
	if len(text) > maxShown {
		text = prose.Head(text, maxShown) + "\n[cut: read the files for the rest]\n"
	}
	return b.String() + text
}

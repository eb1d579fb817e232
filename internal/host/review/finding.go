package review

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
)

// Severity says how much a finding matters: P0 must not be merged, P1 is wrong in cases that will
// happen, P2 in rare ones, P3 is small.
type Severity string

// Severities are all of them, the worst first.
func Severities() []Severity { return []Severity{"P0", "P1", "P2", "P3"} }

func (s Severity) rank() int {
	if i := slices.Index(Severities(), s); i >= 0 {
		return i
	}
	return len(Severities()) - 1
}

// lower is the next milder severity.
func (s Severity) lower() Severity {
	return Severities()[min(s.rank()+1, len(Severities())-1)]
}

// ParseSeverity reads what a person wrote.
func ParseSeverity(s string) (Severity, error) {
	v := Severity(strings.ToUpper(strings.TrimSpace(s)))
	if !slices.Contains(Severities(), v) {
		return "", fmt.Errorf("%q is not P0, P1, P2 or P3", prose.Short(s, 20))
	}
	return v, nil
}

// What the second pass says of a finding.
const (
	Confirmed  = "confirmed"  // it was followed to its end in the code
	Unclear    = "unclear"    // it depends on something that couldn't be seen; its severity is lowered
	Unverified = "unverified" // the second pass has said nothing
	Refuted    = "refuted"    // it is not so, and not among the findings
)

// Finding is something that is wrong with the changes.
type Finding struct {
	Number      int      `json:"number,omitempty"`
	File        string   `json:"file"` // from the root of the repository, with slashes
	Line        int      `json:"line"` // after the changes
	EndLine     int      `json:"endLine"`
	Severity    Severity `json:"severity"`
	Confidence  float64  `json:"confidence"` // 0 to 1
	Concerns    []string `json:"concerns"`
	Title       string   `json:"title"`
	Explanation string   `json:"explanation"`
	Suggestion  string   `json:"suggestion,omitempty"`
	Verdict     string   `json:"verdict"`
	Reason      string   `json:"reason,omitempty"` // of the verdict
	// InDiff says that the lines are among those that changed, or close to them.
	InDiff bool `json:"inDiff"`
}

// where is the place of a finding as people write it.
func (f *Finding) where() string {
	if f.EndLine > f.Line {
		return fmt.Sprintf("%s:%d-%d", prose.Inline(f.File), f.Line, f.EndLine)
	}
	return fmt.Sprintf("%s:%d", prose.Inline(f.File), f.Line)
}

// Bounds of a finding, in characters.
const (
	maxTitle = 160
	maxText  = 3000
	perAgent = 25 // findings
)

// findingSchema is the JSON schema of what an agent hands over.
func findingSchema() json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["findings"],"properties":{"findings":{
"type":"array","maxItems":%d,"description":"the most severe first; empty if there are none","items":{"type":"object","additionalProperties":false,
"required":["file","line","severity","confidence","title","explanation"],"properties":{
"file":{"type":"string","description":"path as the diff has it"},
"line":{"type":"integer","minimum":1,"description":"the first line to change, by its number after the changes"},
"end_line":{"type":"integer","minimum":1,"description":"the last one"},
"severity":{"type":"string","enum":["P0","P1","P2","P3"]},
"confidence":{"type":"number","minimum":0,"maximum":1},
"title":{"type":"string","description":"what is wrong, in one line"},
"explanation":{"type":"string","description":"when it happens and what it does"},
"suggestion":{"type":"string","description":"how to correct it"}}}}}}`, perAgent))
}

// handed is what an agent hands over for a finding.
type handed struct {
	File        string   `json:"file"`
	Line        int      `json:"line"`
	EndLine     int      `json:"end_line"`
	Severity    Severity `json:"severity"`
	Confidence  float64  `json:"confidence"`
	Title       string   `json:"title"`
	Explanation string   `json:"explanation"`
	Suggestion  string   `json:"suggestion"`
}

// errNowhere is the error of a finding in a file that doesn't exist, or behind its end.
var errNowhere = errors.New("it names lines that don't exist")

// finding checks what an agent has handed over. A path that leads out of the repository is an
// error.
func (r *Review) finding(concern string, h handed) (Finding, error) {
	name := path.Clean(strings.ReplaceAll(strings.TrimSpace(h.File), `\`, "/"))
	if name == "." || path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.Contains(name, ":/") || strings.ContainsFunc(name, unicode.IsControl) {
		return Finding{}, fmt.Errorf("%q is not a file of the repository", prose.Short(prose.Inline(h.File), 80))
	}
	title := prose.Short(prose.Inline(strings.TrimSpace(h.Title)), maxTitle)
	if title == "" {
		return Finding{}, errors.New("a finding without a title")
	}
	f := Finding{
		File: name, Line: max(1, h.Line), Severity: Severities()[h.Severity.rank()], Confidence: fraction(h.Confidence), Concerns: []string{concern},
		Title: r.o.Hide(title), Explanation: r.o.Hide(text(h.Explanation)), Suggestion: r.o.Hide(text(h.Suggestion)), Verdict: Unverified,
	}
	f.EndLine = max(f.Line, h.EndLine)
	file, last := r.file(name), r.last(name)
	if file == nil && last <= 0 { // models write the prefixes of a diff
		for _, side := range []string{"a/", "b/"} {
			if rest, ok := strings.CutPrefix(name, side); ok && (r.file(rest) != nil || r.last(rest) > 0) {
				f.File, file, last = rest, r.file(rest), r.last(rest)
			}
		}
	}
	if last >= 0 {
		if f.Line > last {
			return Finding{}, errNowhere
		}
		f.EndLine = min(f.EndLine, last)
	}
	f.InDiff = file != nil && file.what != "deleted" && file.touches(f.Line, f.EndLine)
	return f, nil
}

func (r *Review) file(name string) *changed {
	if i := slices.IndexFunc(r.files, func(f changed) bool { return f.path == name }); i >= 0 {
		return &r.files[i]
	}
	return nil
}

// last is the last line that a finding in a file can name: 0 if there is no such file, -1 if that
// isn't known. In a deleted file it may name those that were there.
func (r *Review) last(name string) int {
	if r.changes.Lines == nil {
		return -1
	}
	n, ok := r.changes.Lines(name)
	if f := r.file(name); !ok && f != nil && f.what == "deleted" {
		n, ok = f.removed, true
	}
	if !ok {
		return 0
	}
	return max(n, 1)
}

func fraction(x float64) float64 {
	if x != x { // not a number
		return 0
	}
	return max(0, min(1, x))
}

// text is what a model wrote, safe to show.
func text(s string) string { return prose.Head(strings.TrimSpace(prose.Clean(s, 4)), maxText) }

// order sorts findings: the worst first, then the surest, then by place.
func order(all []Finding) {
	sorting.Stable(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
}

// merge puts findings together that say the same: of one file, with lines that overlap or touch,
// and similar words. The worst one's words are kept.
func merge(all []Finding) []Finding {
	order(all)
	var out []Finding
next:
	for _, f := range all {
		for i := range out {
			o := &out[i]
			if o.File != f.File || f.Line > o.EndLine+1 || o.Line > f.EndLine+1 || !similar(o, &f) {
				continue
			}
			for _, c := range f.Concerns {
				if !slices.Contains(o.Concerns, c) {
					o.Concerns = append(o.Concerns, c)
				}
			}
			o.Confidence = max(o.Confidence, f.Confidence)
			o.Suggestion = cmp.Or(o.Suggestion, f.Suggestion)
			o.InDiff = o.InDiff || f.InDiff
			continue next
		}
		f.Concerns = slices.Clone(f.Concerns)
		out = append(out, f)
	}
	for i := range out {
		slices.SortFunc(out[i].Concerns, func(a, b string) int { return cmp.Compare(concernRank(a), concernRank(b)) })
	}
	return out
}

// similar reports whether the titles of two findings, or else all of their words, share half of
// those of the shorter one.
func similar(a, b *Finding) bool {
	return overlap(words(a.Title), words(b.Title)) >= 0.5 || overlap(words(a.Title+" "+a.Explanation), words(b.Title+" "+b.Explanation)) >= 0.5
}

func overlap(a, b map[string]bool) float64 {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	least := min(len(a), len(b))
	if least == 0 {
		return 0
	}
	return float64(both) / float64(least)
}

// words are the words of a text that tell it from others, without the ends that grammar gives
// them.
func words(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsFuncSeq(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if len(w) < 3 || slices.Contains([]string{"the", "and", "for", "with", "that", "this", "are", "not", "when", "from", "can", "which", "but", "has", "its", "into"}, w) {
			continue
		}
		for _, end := range []string{"ing", "ed", "es", "s"} {
			if rest, ok := strings.CutSuffix(w, end); ok && len(rest) >= 3 {
				w = rest
				break
			}
		}
		out[w] = true
	}
	return out
}

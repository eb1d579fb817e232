package compact

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/transcript"
)

const (
	shownFiles = 20   // in a summary; the rest is counted
	keptFiles  = 1000 // in the details of an entry, of each list; the last by name are left out
)

// details are those of compactions and branch summaries. The first two lists are
// those of session files version 3; other programs ignore the rest.
type details struct {
	ReadFiles     []string `json:"readFiles"`
	ModifiedFiles []string `json:"modifiedFiles"`
	AlsoRead      []string `json:"alsoRead,omitempty"` // of the modified ones
	Keep          string   `json:"keep,omitempty"`     // tag of the section of kept words
}

// detailsOf reads the details of a summary. Those of an extension are its own.
func detailsOf(e *transcript.Entry) details {
	var d details
	if e == nil || e.FromExtension || len(e.Details) == 0 || json.Unmarshal(e.Details, &d) != nil {
		return details{}
	}
	return d
}

// keepTag is the tag of the kept words of a summary, which the program writes also for
// summaries that an extension made.
func keepTag(e *transcript.Entry) string {
	var d struct {
		Keep string `json:"keep"`
	}
	if e == nil || len(e.Details) == 0 || json.Unmarshal(e.Details, &d) != nil {
		return ""
	}
	return d.Keep
}

type fileSet struct{ read, modified map[string]bool }

func newFileSet() fileSet { return fileSet{map[string]bool{}, map[string]bool{}} }

func (f fileSet) addAll(path []transcript.Entry) {
	failed := map[string]bool{}
	for i := len(path) - 1; i >= 0; i-- {
		e := &path[i]
		switch e.Type {
		case transcript.TypeCompaction, transcript.TypeBranchSummary:
			f.merge(detailsOf(e))
		case transcript.TypeMessage:
			f.addMessage(e.Message, failed)
		}
	}
}

// addMessage takes messages from the last to the first, so that it knows which calls
// failed.
func (f fileSet) addMessage(m *llm.Message, failed map[string]bool) {
	switch {
	case m == nil:
	case m.Role == llm.RoleToolResult:
		if m.IsError {
			failed[m.ToolCallID] = true
		}
	case m.Role == llm.RoleAssistant:
		for _, b := range m.Content {
			c, ok := b.(llm.ToolCall)
			if !ok || failed[c.ID] {
				delete(failed, c.ID)
				continue
			}
			f.addCall(c)
		}
	}
}

func (f fileSet) addCall(c llm.ToolCall) {
	set := f.modified
	switch c.Name {
	case "read":
		set = f.read
	case "write", "edit":
	default:
		return
	}
	for _, p := range callPaths(c) {
		if name, _ := splitSelector(p); !strings.Contains(name, "://") && name != "" {
			set[name] = true
		}
	}
}

// callPaths are the files that the arguments of a call name: a path, or the headers
// of a patch.
func callPaths(c llm.ToolCall) []string {
	object, _, err := c.Object()
	if err != nil {
		return nil
	}
	var args struct {
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
		Patch    string `json:"patch"`
		Input    string `json:"input"`
	}
	_ = json.Unmarshal(object, &args) // a field of another type is not a path
	var paths []string
	for _, p := range []string{args.Path, args.FilePath} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	for line := range strings.Lines(args.Patch + "\n" + args.Input) {
		for _, head := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ", "+++ b/"} {
			if name, ok := strings.CutPrefix(line, head); ok {
				paths = append(paths, strings.TrimSpace(name))
			}
		}
	}
	return paths
}

// splitSelector takes what selects a part (":50-200", ":raw") off the end of a path.
func splitSelector(p string) (name, selector string) {
	name = p
	for {
		i := strings.LastIndexByte(name, ':')
		if i <= 0 || !isSelector(name[i+1:]) {
			return name, p[len(name):]
		}
		name = name[:i]
	}
}

func isSelector(s string) bool {
	if s == "raw" || s == "conflicts" {
		return true
	}
	return strings.ContainsAny(s, "0123456789") && strings.Trim(s, "0123456789-+,L") == ""
}

func (f fileSet) merge(d details) {
	for _, p := range d.ReadFiles {
		f.read[p] = true
	}
	for _, p := range d.ModifiedFiles {
		f.modified[p] = true
	}
	for _, p := range d.AlsoRead {
		f.read[p] = true
	}
}

func (f fileSet) details() details {
	var d details
	for _, p := range slices.Sorted(maps.Keys(f.read)) {
		if f.modified[p] {
			d.AlsoRead = append(d.AlsoRead, p)
		} else {
			d.ReadFiles = append(d.ReadFiles, p)
		}
	}
	d.ModifiedFiles = slices.Sorted(maps.Keys(f.modified))
	return d
}

// encode returns the details as they are stored.
func (d details) encode() (json.RawMessage, error) {
	bound := func(files []string) []string {
		return append([]string{}, files[:min(len(files), keptFiles)]...)
	}
	d.ReadFiles, d.ModifiedFiles, d.AlsoRead = bound(d.ReadFiles), bound(d.ModifiedFiles), bound(d.AlsoRead)
	return json.Marshal(d)
}

// list writes the files as one tag: folders as headings of their depth, each below
// the folder that holds it, names with how they were used. It is "" without files.
func (f fileSet) list() string {
	all := slices.Sorted(maps.Keys(f.modified))
	for _, p := range slices.Sorted(maps.Keys(f.read)) {
		if !f.modified[p] {
			all = append(all, p) // what was changed is worth more than what was read
		}
	}
	if len(all) == 0 {
		return ""
	}
	more := len(all) - shownFiles
	all = all[:min(len(all), shownFiles)]
	slices.SortFunc(all, func(a, b string) int {
		if c := strings.Compare(path.Dir(a), path.Dir(b)); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString("<files>\n")
	var open []string // the folders that stand over the next name
	for _, p := range all {
		open = heading(&b, open, path.Dir(p))
		fmt.Fprintf(&b, "%s (%s)\n", clean(path.Base(p), 200), f.use(p))
	}
	if more > 0 {
		fmt.Fprintf(&b, "… (%d more files omitted)\n", more)
	}
	b.WriteString("</files>")
	return b.String()
}

// heading writes the folder of the next name, relative to the open folders that contain
// it.
func heading(b *strings.Builder, open []string, dir string) []string {
	if len(open) > 0 && open[len(open)-1] == dir || len(open) == 0 && dir == "." {
		return open
	}
	for len(open) > 0 && !strings.HasPrefix(dir, open[len(open)-1]+"/") {
		open = open[:len(open)-1]
	}
	rest := dir
	if len(open) > 0 {
		rest = dir[len(open[len(open)-1])+1:]
	}
	fmt.Fprintf(b, "%s %s/\n", strings.Repeat("#", len(open)+1), clean(strings.TrimSuffix(rest, "/"), 400))
	return append(open, dir)
}

func (f fileSet) use(p string) string {
	switch {
	case !f.modified[p]:
		return "Read"
	case f.read[p]:
		return "RW"
	}
	return "Write"
}

// clean makes a name one that cannot be taken for a line or a tag of the program:
// one line, quoted if it has anything unusual, at most n bytes.
func clean(s string, n int) string {
	s = prose.Clip(s, n)
	if strings.ContainsFunc(s, func(r rune) bool { return r == '<' || r == '>' || r == '=' || !strconv.IsPrint(r) }) {
		s = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "=", `\u003d`).Replace(strconv.Quote(s))
	}
	return s
}

package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/burin-dev/burin/internal/platform/edit"
	"github.com/burin-dev/burin/internal/platform/workspace"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/tool"
)

// conflictScheme begins the addresses of merge conflicts.
const conflictScheme = "conflict://"

// conflict is an unresolved merge conflict in a text.
type conflict struct {
	from, to                  int    // its first and last line, marks included, from 1
	start, end                int    // the same in bytes
	block                     string // all of it
	oursName, theirsName      string
	ours, base, theirs        string // the sides, with their line endings
	hasBase                   bool
	lineEnd                   string // of its first line
	baseFrom, middle, finding int    // offsets of the marks, while it is looked for
}

// findConflicts finds the conflicts of a text. A beginning without the marks that belong to
// it is none.
func findConflicts(text string) (all []conflict) {
	var c *conflict
	offset, n := 0, 0
	for line := range strings.Lines(text) {
		n++
		at := offset
		offset += len(line)
		mark, label := markOf(line)
		switch {
		case mark == '<':
			c = &conflict{from: n, start: at, oursName: label, finding: offset, lineEnd: line[len(strings.TrimRight(line, "\r\n")):]}
		case c == nil:
		case mark == '|' && c.middle == 0 && !c.hasBase:
			c.ours, c.hasBase, c.baseFrom = text[c.finding:at], true, offset
		case mark == '=' && c.middle == 0:
			if c.hasBase {
				c.base = text[c.baseFrom:at]
			} else {
				c.ours = text[c.finding:at]
			}
			c.middle = offset
		case mark == '>' && c.middle > 0:
			c.theirs, c.theirsName, c.to, c.end = text[c.middle:at], label, n, offset
			c.block = text[c.start:c.end]
			all = append(all, *c)
			c = nil
		}
	}
	return all
}

// markOf is the sign of a line that is the mark of a conflict, and what follows it.
func markOf(line string) (sign byte, label string) {
	line = strings.TrimRight(line, "\r\n")
	if len(line) < 7 || strings.IndexByte("<|=>", line[0]) < 0 || line[:7] != strings.Repeat(line[:1], 7) {
		return 0, ""
	}
	switch rest := line[7:]; {
	case rest == "":
		return line[0], ""
	case rest[0] == ' ':
		return line[0], rest[1:]
	}
	return 0, ""
}

// side is the text of a side: ours, theirs, base or both.
func (c *conflict) side(name string) (string, error) {
	switch name {
	case "ours":
		return c.ours, nil
	case "theirs":
		return c.theirs, nil
	case "both":
		return c.ours + c.theirs, nil
	case "base":
		if !c.hasBase {
			return "", errors.New("it has no base side: set merge.conflictStyle to diff3 for one")
		}
		return c.base, nil
	}
	return "", fmt.Errorf("%q is no side: want ours, theirs or base", name)
}

// resolved is the text that takes the conflict's place. A line that is @ours, @theirs, @base or
// @both stands for that side.
func (c *conflict) resolved(content string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(content) {
		plain := strings.TrimRight(line, "\r\n")
		if name, ok := strings.CutPrefix(strings.TrimSpace(plain), "@"); ok && slices.Contains([]string{"ours", "theirs", "base", "both"}, name) {
			text, err := c.side(name)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			continue
		}
		if sign, _ := markOf(line); sign == '<' || sign == '>' {
			return "", errors.New("the content still has the marks of a conflict")
		}
		b.WriteString(plain + c.lineEnd)
	}
	return b.String(), nil
}

// regions are the conflicts that the model has been shown, by number. A number stays that of its
// conflict as long as the session lives.
type regions struct {
	mu     sync.Mutex
	all    []region
	judged map[string][]string // files by which writes to an address were judged
}

type region struct {
	id   int
	name string // of the file
	done bool   // it was resolved by its address
	conflict
}

func (m *region) address() string { return conflictScheme + strconv.Itoa(m.id) }

// register gives the conflicts of a file their numbers.
func (m *regions) register(name string, data []byte) (found []region) {
	if !bytes.Contains(data, []byte("<<<<<<<")) {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range findConflicts(string(data)) {
		at := -1
		for i := range m.all {
			known := &m.all[i]
			if known.name == name && known.block == c.block && !slices.ContainsFunc(found, func(f region) bool { return f.id == known.id }) {
				at = i
				break
			}
		}
		if at < 0 {
			at = len(m.all)
			m.all = append(m.all, region{id: at + 1, name: name})
		}
		m.all[at].conflict, m.all[at].done = c, false
		found = append(found, m.all[at])
	}
	return found
}

// named finds the conflicts of an address, and the side that it names.
func (m *regions) named(written string) (found []region, side string, err error) {
	rest := strings.TrimPrefix(written, conflictScheme)
	id, side, _ := strings.Cut(rest, "/")
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == "*" && side == "" || rest == "" {
		return slices.DeleteFunc(slices.Clone(m.all), func(one region) bool { return one.done }), "", nil
	}
	n, err := strconv.Atoi(id)
	if err != nil || n < 1 || n > len(m.all) {
		return nil, "", fmt.Errorf("%s: no such conflict; read lists those of a file as FILE:conflicts", written)
	}
	return []region{m.all[n-1]}, side, nil
}

func (m *regions) finish(done []region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range done {
		m.all[d.id-1].done = true
	}
}

// cutFile takes the file off a conflict's address that was written as main.go:conflict://1.
func cutFile(written string) (address, file string) {
	file, rest, ok := strings.Cut(written, ":"+conflictScheme)
	if !ok || file == "" {
		return written, ""
	}
	return conflictScheme + rest, file
}

func isConflict(written string) bool {
	address, _ := cutFile(written)
	return strings.HasPrefix(address, conflictScheme)
}

// conflictAccess is what a call does to the files that a conflict's address stands for.
func conflictAccess(f *files, kind tool.AccessKind, written string) []tool.Access {
	address, _ := cutFile(written)
	found, _, err := f.regions.named(address)
	var names []string
	for _, m := range found {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	if kind == tool.AccessWrite {
		f.regions.judge(address, names)
	}
	if err != nil || len(names) == 0 {
		return []tool.Access{{Kind: tool.AccessRead, Target: address}} // the call fails with the reason
	}
	return f.access(kind, names...)
}

// judge remembers which files a call that writes to an address is judged by. Of calls that are
// under way together, only what all are judged by may be written.
func (m *regions) judge(address string, names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, ok := m.judged[address]; ok {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(before, name) })
	}
	if m.judged == nil || len(m.judged) > maxJudged {
		m.judged = map[string][]string{}
	}
	m.judged[address] = names
}

// maxJudged is how many addresses are remembered; calls that lose their judgment fail.
const maxJudged = 1000

// allowed reports whether a call that runs was judged by all these files.
func (m *regions) allowed(address string, found []region) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := m.judged[address]
	delete(m.judged, address)
	return !slices.ContainsFunc(found, func(r region) bool { return !slices.Contains(names, r.name) })
}

// listConflicts names conflicts, a line each.
func listConflicts(name string, found []region) *tool.Result {
	var b strings.Builder
	for _, m := range found {
		fmt.Fprintf(&b, "%s: %s:%d-%d, %s against %s\n", m.address(), m.name, m.from, m.to, m.oursName, m.theirsName)
	}
	if len(found) == 0 {
		b.WriteString(name + " has no merge conflicts")
	} else {
		fmt.Fprintf(&b, "[%s. %s]", prose.Count(len(found), "conflict"), howToResolve)
	}
	return tool.Text(b.String()).WithDetails(readDetails{Path: name, Kind: "conflicts"})
}

const howToResolve = "Read one by its address, then write what it should be to that address, without the marks; @ours, @theirs, @base or @both on a line of its own stands for a side."

// withConflicts adds a note to a file that was read.
func withConflicts(r *tool.Result, found []region) *tool.Result {
	if len(found) == 0 {
		return r
	}
	which := found[0].address()
	if len(found) > 1 {
		which += " to " + found[len(found)-1].address()
	}
	r.Content = append(r.Content, llm.Text{Text: fmt.Sprintf("\n[%s: %s. %s]", prose.Count(len(found), "merge conflict"), which, howToResolve)})
	return r
}

// readConflict shows a conflict, a side of it, or which there are.
func readConflict(f *files, written string) (*tool.Result, error) {
	base, sel, err := splitSelector(written)
	if err != nil {
		return nil, err
	}
	address, _ := cutFile(base)
	found, side, err := f.regions.named(address)
	if err != nil {
		return nil, err
	}
	if strings.Trim(strings.TrimPrefix(address, conflictScheme), "*") == "" {
		return listConflicts("what was read", found), nil
	}
	m := found[0]
	text := m.block
	if side != "" {
		if text, err = m.side(side); err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
	}
	sel.raw = true
	r := f.text(address, "conflict", text, sel)
	r.Content = append([]llm.Block{llm.Text{Text: fmt.Sprintf("[%s, lines %d-%d: %s against %s]\n", m.name, m.from, m.to, m.oursName, m.theirsName)}}, r.Content...)
	return r, nil
}

// writeConflict resolves the conflicts that an address stands for.
func writeConflict(ctx context.Context, f *files, written, content string) (*tool.Result, error) {
	address, file := cutFile(written)
	found, side, err := f.regions.named(address)
	allowed := f.regions.allowed(address, found)
	switch {
	case err != nil:
		return nil, err
	case side != "":
		return nil, fmt.Errorf("%s can only be read: write to %s", address, found[0].address())
	case len(found) == 0:
		return nil, fmt.Errorf("%s: no conflict is left of those that were read", address)
	case !allowed:
		return nil, fmt.Errorf("%s was not known yet when the call was checked: call again", address)
	}
	note := ""
	if file != "" {
		if name, err := f.Workspace.Resolve(file); err != nil || len(found) != 1 || found[0].name != name {
			return nil, fmt.Errorf("%s: %s is in %s", written, address, found[0].name)
		}
		note = "\nNote: the address is enough without the file: " + address
	}
	all := &resolution{files: f, content: content, all: address == conflictScheme+"*"}
	sorting.Stable(found, func(a, b region) int { return strings.Compare(a.name, b.name) })
	for len(found) > 0 {
		name := found[0].name
		at := slices.IndexFunc(found, func(m region) bool { return m.name != name })
		if at < 0 {
			at = len(found)
		}
		all.file(ctx, name, found[:at])
		found = found[at:]
	}
	r, err := all.result()
	if err == nil && note != "" {
		r.Content = append(r.Content, llm.Text{Text: note})
	}
	return r, err
}

// resolution resolves conflicts, those of a file all or none.
type resolution struct {
	files   *files
	content string
	all     bool // of all files: a conflict that is gone was resolved otherwise

	done    changeDetails
	words   []string // of what was done
	tagged  string   // the changed lines, for the hashline engine
	count   int
	failed  []error
	diffing strings.Builder
}

// file resolves conflicts of a file.
func (r *resolution) file(ctx context.Context, name string, found []region) {
	f := r.files
	before, err := fs.ReadFile(f.fs, name)
	if err == nil && !utf8.Valid(before) {
		err = errors.New("its text is not UTF-8: use edit")
	}
	if err == nil {
		err = f.handwritten(name, before)
	}
	var after []byte
	var gone []region
	if err == nil {
		after, gone, err = r.work(name, string(before), found)
	}
	if err == nil && !bytes.Equal(before, after) {
		err = f.commit(ctx, []workspace.Change{{Path: name, Before: before, After: after}})
	}
	if err != nil {
		r.failed = append(r.failed, fmt.Errorf("%s: %w", name, err))
		return
	}
	f.regions.finish(found)
	n := len(found) - len(gone)
	if n == 0 {
		return
	}
	r.count += n
	diff, added, removed := edit.Diff(name, before, after)
	r.diffing.WriteString(diff)
	r.done.Paths, r.done.Added, r.done.Removed = append(r.done.Paths, name), r.done.Added+added, r.done.Removed+removed
	left := "no conflict left"
	if rest := len(findConflicts(string(after))); rest > 0 {
		left = fmt.Sprintf("%d left", rest)
	}
	r.words = append(r.words, fmt.Sprintf("%s: %d, %s", name, n, left))
	if f.Engine.Name() == "hashline" {
		if from, to := changedLines(before, after); to > 0 {
			r.tagged += "\n" + edit.Tagged(name, after, from, to)
		}
	}
}

// work is the text of a file with conflicts resolved, the last one first. Each is looked for by
// its text, near the line where it was.
func (r *resolution) work(name, text string, found []region) (after []byte, gone []region, err error) {
	here := findConflicts(text)
	places := map[int]string{} // what takes the place of the conflict of that index
	for _, m := range found {
		best := -1
		for i, c := range here {
			if _, taken := places[i]; !taken && c.block == m.block && (best < 0 || abs(c.from-m.from) < abs(here[best].from-m.from)) {
				best = i
			}
		}
		switch {
		case best >= 0:
		case r.all:
			gone = append(gone, m)
			continue
		default:
			return nil, nil, fmt.Errorf("%s is not there any more as it was read: read %s:conflicts again", m.address(), name)
		}
		if places[best], err = here[best].resolved(r.content); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.address(), err)
		}
	}
	for i, c := range slices.Backward(here) {
		if with, ok := places[i]; ok {
			text = text[:c.start] + with + text[c.end:]
		}
	}
	return []byte(text), gone, nil
}

func (r *resolution) result() (*tool.Result, error) {
	if r.count == 0 {
		if len(r.failed) == 0 {
			return tool.Text("The conflicts that were read are resolved already"), nil
		}
		return nil, errors.Join(r.failed...)
	}
	text := fmt.Sprintf("Resolved %s in %s:\n%s", prose.Count(r.count, "conflict"), prose.Count(len(r.words), "file"), strings.Join(r.words, "\n"))
	for _, err := range r.failed {
		text += "\nNot resolved: " + err.Error()
	}
	r.done.Diff = r.diffing.String()
	out := tool.Text(text + r.tagged).WithDetails(r.done)
	out.IsError = len(r.failed) > 0
	return out, nil
}

func abs(n int) int { return max(n, -n) }

package edit

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"path"
	"strings"
)

//go:embed patch.md
var patchDescription string

const patchParameters = `{"type":"object","properties":{"patch":{"type":"string"}},"required":["patch"],"additionalProperties":false}`

// patchEngine applies patches: the apply-patch format that models of OpenAI were
// trained on, and unified diffs. Where the format's first implementation guesses,
// this one refuses: added lines under a header without context, context that fits
// in several ways, a missing end, a sign that may have been forgotten.
type patchEngine struct{}

var _ Engine = patchEngine{}

type patchArgs struct {
	Patch string `json:"patch"`
}

// operation says what a section of a patch does.
type operation uint8

const (
	opUpdate operation = iota
	opAdd
	opDelete
	opReplace // delete and add in one patch
)

// section is what a patch does to one file.
type section struct {
	op     operation
	path   string
	to     string // where the file moves
	hunks  []hunk
	exec   bool // the new file can be executed
	modes  bool // the patch changes the mode, too
	format format
}

// format is the language a section is written in.
type format uint8

const (
	applyPatch format = iota
	unifiedDiff
)

// hunk is a run of lines that changes.
type hunk struct {
	headers []string // lines that enclose it, outermost first
	line    int      // where it was in the old file, from 1; 0: not said
	lines   []patchLine
	atEnd   bool // it ends the file
}

// patchLine is a line of a hunk.
type patchLine struct {
	op   byte // ' ', '-' or '+'
	text string
	cr   bool // the line ended in CR LF
	open bool // it has no newline
	bare bool // an empty line without the space of context
	// unsigned is a line without any sign, taken as context.
	unsigned bool
}

func (patchEngine) Name() string                { return "patch" }
func (patchEngine) Description() string         { return patchDescription }
func (patchEngine) Parameters() json.RawMessage { return json.RawMessage(patchParameters) }

func (patchEngine) Paths(raw json.RawMessage) ([]string, error) {
	sections, err := decodePatch(raw)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, s := range sections {
		paths = append(paths, s.path)
		if s.to != "" {
			paths = append(paths, s.to)
		}
	}
	return paths, nil
}

// decodePatch reads the arguments. Each file has one section.
func decodePatch(raw json.RawMessage) ([]section, error) {
	var args patchArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	parsed, err := parsePatch(args.Patch)
	if err != nil {
		return nil, err
	}
	return mergeSections(parsed)
}

// mergeSections makes one section of those for the same file: updates follow each
// other, and a file that is deleted and added is written anew.
func mergeSections(parsed []section) ([]section, error) {
	var out []section
	index := map[string]int{}
	for _, s := range parsed {
		if err := checkPath(s.path); err != nil {
			return nil, err
		}
		if s.to != "" {
			if err := checkPath(s.to); err != nil {
				return nil, err
			}
			if path.Clean(s.to) == path.Clean(s.path) {
				s.to = ""
			}
		}
		i, again := index[path.Clean(s.path)]
		switch {
		case !again:
			index[path.Clean(s.path)] = len(out)
			out = append(out, s)
		case out[i].op == opUpdate && s.op == opUpdate && (out[i].to == "" || s.to == ""):
			out[i].hunks = append(out[i].hunks, s.hunks...)
			out[i].to += s.to
		case out[i].op == opDelete && s.op == opAdd && s.path == out[i].path:
			s.op = opReplace
			out[i] = s
		default:
			return nil, refuse(s.path, "the patch has two sections for this file that do not go together")
		}
	}
	for i, s := range out {
		if s.to == "" {
			continue
		}
		if _, taken := index[path.Clean(s.to)]; taken {
			return nil, refuse(s.to, "the patch moves %s here and has another section for this file", s.path)
		}
		index[path.Clean(s.to)] = i
	}
	return out, nil
}

func (patchEngine) Apply(src Source, raw json.RawMessage) (*Result, error) {
	sections, err := decodePatch(raw)
	if err != nil {
		return nil, err
	}
	p := &patching{src: src}
	var idle *Refusal // of the first section that changes nothing
	for _, s := range sections {
		switch s.op {
		case opAdd, opReplace:
			err = p.add(s)
		case opDelete:
			err = p.remove(s)
		default:
			err = p.update(s)
		}
		switch r := (*Refusal)(nil); {
		case errors.As(err, &r) && r.unchanged:
			idle = cmp.Or(idle, r)
			p.out.note("%s: nothing to change: the file already is like this", s.path)
		case err != nil:
			return nil, err
		}
	}
	if len(p.out.res.Changes) == 0 {
		return nil, idle
	}
	return p.out.result(), nil
}

// patching is one call at work.
type patching struct {
	src Source
	out outcome
}

// add makes a new file, or writes one anew.
func (p *patching) add(s section) error {
	d, err := load(p.src, s.path)
	if err != nil {
		return err
	}
	switch {
	case s.op == opAdd && d.exists():
		return refuse(s.path, "the patch adds this file, and it exists").hint("Use an Update File section.")
	case s.op == opReplace && !d.exists():
		return refuse(s.path, "the patch deletes this file first, and it does not exist").hint("Leave the Delete File section out.")
	}
	var b strings.Builder
	for _, h := range s.hunks {
		for _, l := range h.lines {
			b.WriteString(l.text)
			if l.cr {
				b.WriteByte('\r')
			}
			if !l.open {
				b.WriteByte('\n')
			}
		}
	}
	if line := elision(s.path, b.String(), d.text); line != "" {
		return refuseElision(s.path, line)
	}
	splices := d.rewrite(b.String())
	c, err := d.edited(splices, 1, "hunk")
	if err != nil {
		return err
	}
	if s.exec {
		c.Mode = 0o755
	}
	p.out.add(c, d, splices)
	return nil
}

// remove deletes a file, also one that is no text. A unified diff must remove all
// of it.
func (p *patching) remove(s section) error {
	raw, err := read(p.src, s.path)
	if err != nil {
		return err
	}
	if raw == nil {
		return refuse(s.path, "the patch deletes this file, and it does not exist").hint("Check the path.")
	}
	c := Change{Path: s.path, Before: raw}
	d, err := parse(s.path, raw)
	if err != nil {
		if len(s.hunks) > 0 {
			return err
		}
		p.out.res.Changes = append(p.out.res.Changes, c)
		p.out.diff.binary(c)
		return nil
	}
	if len(s.hunks) > 0 {
		splices, err := p.splices(d, s)
		if err != nil {
			return err
		}
		if rest := join(d.text, splices); rest != "" {
			return refuse(s.path, "the patch deletes this file, and it has lines that the patch does not remove").
				hint("Such as %q. Read the file again.", clip(strings.TrimSpace(rest), 120))
		}
	}
	p.out.add(c, d, trimmed(d.text, ""))
	return nil
}

// update changes or moves a file.
func (p *patching) update(s section) error {
	if s.modes {
		p.out.note("%s: the mode of the file was left as it is", s.path)
	}
	if s.to != "" {
		there, err := read(p.src, s.to)
		if err != nil {
			return err
		}
		if there != nil {
			return refuse(s.to, "the patch moves %s here, and this file exists", s.path)
		}
	}
	if len(s.hunks) == 0 {
		return p.move(s)
	}
	d, err := load(p.src, s.path)
	if err != nil {
		return err
	}
	if !d.exists() {
		return refuse(s.path, "the file does not exist").hint("Check the path. To create it, use an Add File section.")
	}
	splices, err := p.splices(d, s)
	if err != nil {
		return err
	}
	if len(splices) == 0 && s.to != "" {
		return p.move(s)
	}
	c, err := d.edited(splices, len(s.hunks), "hunk")
	if err != nil {
		if r := (*Refusal)(nil); errors.As(err, &r) && r.unchanged {
			r.hint("Lines to remove begin with -, and new ones with +.")
		}
		return err
	}
	if s.to != "" {
		c.Path, c.From = s.to, s.path
	}
	p.out.add(c, d, splices)
	return nil
}

// move moves a file without looking into it.
func (p *patching) move(s section) error {
	if s.to == "" {
		return refuse(s.path, "the patch has no hunks for this file")
	}
	raw, err := read(p.src, s.path)
	if err != nil {
		return err
	}
	if raw == nil {
		return refuse(s.path, "the file does not exist").hint("Check the path.")
	}
	c := Change{Path: s.to, From: s.path, Before: raw, After: raw}
	p.out.res.Changes = append(p.out.res.Changes, c)
	p.out.diff.header(c, false)
	return nil
}

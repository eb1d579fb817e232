package edit

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

//go:embed hashline.md
var hashlineDescription string

const hashlineParameters = `{"type":"object","properties":{"path":{"type":"string"},"tag":{"type":"string"},` +
	`"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{` +
	`"op":{"type":"string","enum":["replace","delete","insert_before","insert_after"]},` +
	`"at":{"type":"string"},"to":{"type":"string"},"text":{"type":"string"}},` +
	`"required":["op","at"],"additionalProperties":false}}},"required":["path","tag","edits"],"additionalProperties":false}`

// hashlineEngine changes lines that are named by number and hash.
//
// A file whose tag is the one the model saw is unchanged, and lines are where their
// numbers say. In one that has changed, named lines are looked for near their
// numbers, and an edit is made only if they are in one place and can be told from
// other lines: a brace alone is not enough.
type hashlineEngine struct{}

var _ Engine = hashlineEngine{}

type hashlineArgs struct {
	Path  string         `json:"path"`
	Tag   string         `json:"tag"`
	Edits []hashlineEdit `json:"edits"`
}

type hashlineEdit struct {
	Op   string `json:"op"`
	At   string `json:"at"`
	To   string `json:"to"`
	Text string `json:"text"`
}

// anchor is a named line.
type anchor struct {
	line int // from 1; 0 is the top of the file
	hash string
}

// nearby is how far a line is looked for that is not where it was.
const nearby = 200

func (hashlineEngine) Name() string                { return "hashline" }
func (hashlineEngine) Description() string         { return hashlineDescription }
func (hashlineEngine) Parameters() json.RawMessage { return json.RawMessage(hashlineParameters) }

func (hashlineEngine) Paths(raw json.RawMessage) ([]string, error) {
	var args hashlineArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	path, _ := splitHeader(args.Path, args.Tag)
	return []string{path}, checkPath(path)
}

func (hashlineEngine) Apply(src Source, raw json.RawMessage) (*Result, error) {
	var args hashlineArgs
	if err := decodeArgs(raw, &args); err != nil {
		return nil, err
	}
	path, tag := splitHeader(args.Path, args.Tag)
	if len(args.Edits) == 0 {
		return nil, refuse(path, "no edits given")
	}
	if tag == "" {
		return nil, refuse(path, "the tag is missing").hint("It is in the header of the file as it was shown: [path#tag].")
	}
	d, err := load(src, path)
	if err != nil {
		return nil, err
	}
	if !d.exists() {
		return nil, refuse(path, "the file does not exist").hint("Check the path. This tool does not create files; write does.")
	}
	h := &hashlining{d: d, fresh: tag == fileTag(d.raw), tag: fileTag(d.raw), count: len(args.Edits)}
	var edits []lineEdit
	for i, e := range args.Edits {
		h.i = i + 1
		le, err := h.locate(e)
		if err != nil {
			return nil, err
		}
		edits = append(edits, le)
	}
	splices, err := d.splices(edits, h.count, "edit")
	if err != nil {
		return nil, err
	}
	if err := h.out.change(d, splices, h.count, "edit"); err != nil {
		return nil, err
	}
	return h.out.result(), nil
}

// splitHeader takes path and tag out of a header that was copied into path.
func splitHeader(path, tag string) (string, string) {
	tag = strings.ToLower(strings.Trim(strings.TrimSpace(tag), "[]#"))
	inner, bracketed := strings.CutPrefix(path, "[")
	if inner, closed := strings.CutSuffix(inner, "]"); bracketed && closed {
		if i := strings.LastIndexByte(inner, '#'); i > 0 && len(inner)-i == 5 {
			return inner[:i], inner[i+1:]
		}
	}
	if p, ok := strings.CutSuffix(path, "#"+tag); ok && tag != "" {
		return p, tag
	}
	return path, tag
}

// hashlining is one call at work.
type hashlining struct {
	d     *document
	fresh bool   // the file is as the model saw it
	tag   string // that it has now
	i     int    // the edit in hand, from 1
	count int
	out   outcome
}

func (h *hashlining) refuse(format string, args ...any) *Refusal {
	return refuse(h.d.path, format, args...).number(h.i, h.count)
}

// locate gives the edit of lines that an edit asks for.
func (h *hashlining) locate(e hashlineEdit) (lineEdit, error) {
	at, to, err := h.anchors(e)
	if err != nil {
		return lineEdit{}, err
	}
	shift := 0
	if at.line > 0 {
		if shift, err = h.shift(at, to); err != nil {
			return lineEdit{}, err
		}
	}
	le := lineEdit{from: at.line + shift - 1, to: to.line + shift, edit: h.i}
	switch e.Op {
	case "insert_before":
		le.to = le.from
	case "insert_after":
		le.from = le.to
	}
	if e.Op == "delete" {
		return le, nil
	}
	lines, err := h.text(e, le)
	le.lines = autoLines(lines)
	return le, err
}

// anchors reads the named lines, which are in order.
func (h *hashlining) anchors(e hashlineEdit) (at, to anchor, err error) {
	switch e.Op {
	case "replace", "delete", "insert_before", "insert_after":
	default:
		return at, to, h.refuse("unknown op %q", e.Op).hint("It is replace, delete, insert_before or insert_after.")
	}
	if e.Op == "delete" && e.Text != "" {
		return at, to, h.refuse("delete takes no text").hint("To put text in the place of lines use replace.")
	}
	if at, err = h.anchor(e.At); err != nil {
		return at, to, err
	}
	if at.line == 0 {
		if e.Op == "insert_after" && (e.To == "" || e.To == e.At) {
			return at, at, nil
		}
		return at, to, h.refuse("at 0 goes with insert_after only")
	}
	if e.To == "" || e.To == e.At {
		return at, at, nil
	}
	if strings.HasPrefix(e.Op, "insert") {
		return at, to, h.refuse("%s takes one line, and to is another", e.Op)
	}
	if to, err = h.anchor(e.To); err != nil {
		return at, to, err
	}
	if to.line < at.line {
		return at, to, h.refuse("to (%s) is before at (%s)", e.To, e.At)
	}
	return at, to, nil
}

// anchor reads the name of a line, also with the "|" that follows it where files
// are shown.
func (h *hashlining) anchor(s string) (anchor, error) {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "|")
	if s == "0" {
		return anchor{}, nil
	}
	number, hash, ok := strings.Cut(s, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > maxFile || len(hash) != 3 || strings.Trim(hash, tagLetters) != "" {
		return anchor{}, h.refuse("%q names no line", clip(s, 40)).hint("Lines are named as they are shown, such as 12:k3f.")
	}
	return anchor{n, hash}, nil
}

// is says whether the line i, from 1, is the one that a names.
func (h *hashlining) is(a anchor, i int) bool {
	return i >= 1 && i <= h.d.lines() && lineHash(h.d.line(i-1)) == a.hash
}

// shift says by how many lines the named lines have moved.
func (h *hashlining) shift(at, to anchor) (int, error) {
	if h.fresh {
		for _, a := range []anchor{at, to} {
			if a.line > h.d.lines() {
				return 0, h.stale(a, fmt.Sprintf("no line %d: the file has %d", a.line, h.d.lines()))
			}
			if !h.is(a, a.line) {
				return 0, h.stale(a, fmt.Sprintf("line %d is not the one named %d:%s", a.line, a.line, a.hash))
			}
		}
		return 0, nil
	}
	var found []int
	for s := -nearby; s <= nearby; s++ {
		if h.is(at, at.line+s) && h.is(to, to.line+s) {
			found = append(found, s)
		}
	}
	name := fmt.Sprintf("%d:%s", at.line, at.hash)
	switch {
	case len(found) == 0:
		a := at
		if h.is(at, at.line) {
			a = to
		}
		return 0, h.stale(a, fmt.Sprintf("the file has changed since it was shown, and %d:%s is not near its place any more", a.line, a.hash))
	case len(found) > 1:
		return 0, h.stale(at, fmt.Sprintf("the file has changed since it was shown, and %s fits %d lines now", name, len(found)))
	case !h.telling(at.line+found[0]) && !h.telling(to.line+found[0]):
		return 0, h.stale(at, fmt.Sprintf("the file has changed since it was shown, and %s says too little to find it again", name))
	}
	if found[0] == 0 {
		h.out.note("%s: the file has changed since it was shown; the named lines are where they were", h.d.path)
	} else {
		h.out.note("%s: the file has changed since it was shown; %s is line %d now", h.d.path, name, at.line+found[0])
	}
	return found[0], nil
}

// telling says whether line i, from 1, has enough in it to be known again.
func (h *hashlining) telling(i int) bool {
	n := 0
	for _, r := range h.d.line(i - 1) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n >= 3
}

// stale is a refusal that shows the lines around a place with their names now.
func (h *hashlining) stale(a anchor, reason string) *Refusal {
	const around = 5
	r := h.refuse("%s", reason)
	line := max(min(a.line, h.d.lines()), 1)
	if h.d.lines() > 0 {
		r.Line = max(line-around, 1)
		r.Nearest = excerptTagged(h.d.tagged(line-around, line+around))
	}
	return r.hint("The tag is %s now. Use these names, or read the file again.", h.tag)
}

// excerptTagged bounds lines that are shown in a refusal.
func excerptTagged(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(clip(strings.TrimSuffix(line, "\n"), 240) + "\n")
	}
	return b.String()
}

// text gives the new lines of an edit.
func (h *hashlining) text(e hashlineEdit, le lineEdit) ([]string, error) {
	if e.Text == "" {
		return nil, h.refuse("%s needs text", e.Op).hint(`To remove lines use delete; "\n" is an empty line.`)
	}
	old := h.d.around(min(le.from, le.to-1), le.to)
	if line := elision(h.d.path, e.Text, strings.Join(old, "\n")); line != "" {
		return nil, refuseElision(h.d.path, line).number(h.i, h.count)
	}
	text := lf(e.Text)
	if plain, ok := StripTags(text); ok && !slices.ContainsFunc(old, taggedLine().MatchString) {
		text = plain
		h.out.note("%s: line names in front of the new text were left out", h.d.path)
	}
	if text == "" {
		return nil, h.refuse("%s needs text", e.Op)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

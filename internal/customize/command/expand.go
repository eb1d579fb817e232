package command

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/burin-dev/burin/internal/customize/source"
)

// Run runs a shell line of a command and gives what stands for it in the prompt.
type Run func(ctx context.Context, c *Command, line string) (output string, err error)

// Expand gives the prompt that a text means. What begins with "/" and the name of a
// command becomes the command's text with the arguments in it, and used says which it
// was; everything else comes back as it is. With an error the text comes back too. run runs
// the shell lines of the command; nil leaves them as they are written.
func (s *Set) Expand(ctx context.Context, text string, run Run) (expanded string, used *Command, err error) {
	name, args, ok := call(text)
	if !ok {
		return text, nil, nil
	}
	c, ok := s.Lookup(name)
	if !ok {
		return text, nil, nil
	}
	body, err := c.read()
	if err != nil {
		return text, nil, fmt.Errorf("read the command /%s: %s: %s", c.Name, c.Path, source.Reason(err))
	}
	expanded, ok, err = fill(body, args, func(line string) (string, error) {
		if run == nil {
			return "!`" + line + "`", nil
		}
		return run(ctx, &c, line)
	})
	switch {
	case err != nil:
		return text, nil, fmt.Errorf("expand the command /%s: %w", c.Name, err)
	case !ok:
		return text, nil, fmt.Errorf("expand the command /%s: it becomes longer than %d KB; give it less text", c.Name, MaxExpanded>>10)
	case strings.TrimSpace(expanded) == "":
		return text, nil, fmt.Errorf("the command /%s is empty: write its prompt into %s", c.Name, c.Path)
	}
	return expanded, &c, nil
}

// Called finds the command that a text calls, and reads it.
func (s *Set) Called(text string) (c Command, ok bool) {
	name, _, ok := call(text)
	if ok {
		c, ok = s.Lookup(name)
	}
	if ok {
		_, _ = c.read() // Expand says why it cannot be read
	}
	return c, ok
}

// Attached is what the author of a command attaches where a text calls it: the words of the
// file that begin with "@", with the arguments in them. The arguments themselves are the
// person's, and whoever takes their words attaches what they name.
func (c *Command) Attached(text string) (attached []string) {
	_, args, _ := call(text)
	body, err := c.Body()
	if err != nil {
		return nil
	}
	for body != "" && len(attached) < maxAttached {
		var before string
		before, _, body = shellLine(body)
		for _, word := range strings.Fields(before) {
			if strings.Contains(word, "@") && len(attached) < maxAttached {
				f := &filler{args: args, words: Words(args)}
				if f.add(word) {
					attached = append(attached, f.out.String())
				}
			}
		}
	}
	return attached
}

// maxAttached is how many words of a command are looked at for files. Further ones stay words.
const maxAttached = 64

// call takes a text apart: the name after "/" and what follows it.
func call(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	return rest[:end], strings.TrimSpace(rest[end:]), end > 0
}

// Body is the text of the command: of one that was called as it was then, else as the file
// is now.
func (c *Command) Body() (string, error) {
	read := *c
	return read.read()
}

// read reads the file and keeps it with what its head says now, so that who decides about the
// command decides about what is used.
func (c *Command) read() (body string, err error) {
	text := c.text
	if text == "" {
		r, err := c.place.Open()
		if err != nil {
			return "", err
		}
		defer r.Close()
		if text, err = source.Read(r, c.file, MaxFile); err != nil {
			return "", err
		}
	}
	d, line, err := parse(text, c.kind)
	if err != nil {
		return "", fmt.Errorf("%s:%d: %w", c.Path, line, err)
	}
	c.text, c.Model, c.Thinking, c.Tools, c.Allow = text, d.model, d.thinking, d.tools, d.allow
	return strings.TrimSpace(d.body), nil
}

// Words splits arguments at spaces. '…' and "…" hold together what is in them; there
// are no escapes, and a quote without its end goes on to the end of the text.
func Words(args string) []string {
	var out []string
	var word strings.Builder
	var quote rune
	open := false // a word has begun, though it may be empty
	for _, r := range args {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case unicode.IsSpace(r):
			if open {
				out = append(out, word.String())
				word.Reset()
				open = false
			}
		default:
			open = true
			word.WriteRune(r)
		}
	}
	if open {
		out = append(out, word.String())
	}
	return out
}

// maxPlace is how long "${1:-text}" may be; so a text full of "${" costs no more than
// others.
const maxPlace = 4 << 10

// filler puts arguments into a text.
type filler struct {
	args  string
	words []string
	out   strings.Builder
	used  bool // some argument has a place in the text
}

// fill puts arguments into a text, once, from left to right:
//
//	$1 … $9, ${10}       a word; nothing where there are fewer
//	${1:-text}           text where there is no such word, or it is empty
//	$@, ${@}, ${@:2:3}   all words, those from the second on, three of them
//	$ARGUMENTS           what was written, with its quotes and line ends
//	{{args}}             the same, as Gemini's commands and older templates say it
//
// "$10" and "$1.50" stay: in prompts they are money. Arguments that have no place in the text stand
// below it, because words that silently get lost are worse than words in a wrong place.
//
// !`a line` runs with its arguments in it, and what shell gives for it is not looked into
// again. ok is false for what becomes too long.
func fill(body, args string, shell func(line string) (string, error)) (text string, ok bool, err error) {
	f := &filler{args: args, words: Words(args)}
	for body != "" {
		before, line, after := shellLine(body)
		if !f.add(before) {
			return "", false, nil
		}
		if body = after; line == "" {
			continue
		}
		inner := &filler{args: f.args, words: f.words}
		if !inner.add(line) {
			return "", false, nil
		}
		f.used = f.used || inner.used
		output, err := shell(inner.out.String())
		if err != nil {
			return "", false, err
		}
		f.out.WriteString(output)
	}
	if !f.used && args != "" {
		f.out.WriteString("\n\n" + args)
	}
	return f.out.String(), f.out.Len() <= MaxExpanded, nil
}

// shellLine finds the first !`line` of a text, which stands at its beginning, behind a blank
// or at the beginning of a line.
func shellLine(body string) (before, line, after string) {
	for at := 0; ; {
		i := strings.Index(body[at:], "!`")
		if i < 0 {
			return body, "", ""
		}
		i += at
		line, rest, ok := strings.Cut(body[i+2:], "`")
		if ok && strings.TrimSpace(line) != "" && !strings.Contains(line, "\n") && (i == 0 || unicode.IsSpace(rune(body[i-1]))) {
			return body[:i], line, rest
		}
		at = i + 2
	}
}

// Lines are the shell lines of a command, as they are written.
func (c *Command) Lines() ([]string, error) {
	body, err := c.Body()
	if err != nil {
		return nil, err
	}
	var lines []string
	for body != "" {
		_, line, after := shellLine(body)
		if line != "" {
			lines = append(lines, line)
		}
		body = after
	}
	return lines, nil
}

// add puts arguments into a part of the text; false: it becomes too long.
func (f *filler) add(body string) bool {
	for body != "" {
		at := strings.IndexAny(body, "${")
		if at < 0 {
			break
		}
		f.out.WriteString(body[:at])
		body = body[at:]
		value, n := f.place(body)
		if n == 0 {
			value, n = body[:1], 1
		}
		f.out.WriteString(value)
		body = body[n:]
		if f.out.Len() > MaxExpanded {
			return false
		}
	}
	f.out.WriteString(body)
	return f.out.Len() <= MaxExpanded
}

// place reads a placeholder at the beginning of s; n is its length, 0 for none.
func (f *filler) place(s string) (value string, n int) {
	value, n = f.find(s)
	f.used = f.used || n > 0
	return value, n
}

func (f *filler) find(s string) (value string, n int) {
	switch {
	case strings.HasPrefix(s, "{{"):
		name, _, ok := strings.Cut(s[2:min(len(s), 40)], "}}")
		switch strings.TrimSpace(name) {
		case "args", "ARGUMENTS", "arguments":
			if ok {
				return f.args, len(name) + 4
			}
		}
	case strings.HasPrefix(s, "${"):
		inner, _, ok := strings.Cut(s[2:min(len(s), maxPlace)], "}")
		if value, known := f.braced(inner); ok && known {
			return value, len(inner) + 3
		}
	case strings.HasPrefix(s, "$@"):
		return strings.Join(f.words, " "), 2
	case strings.HasPrefix(s, "$ARGUMENTS"):
		const n = len("$ARGUMENTS")
		if len(s) == n || !wordByte(s[n]) {
			return f.args, n
		}
	case len(s) > 1 && s[0] == '$' && s[1] >= '1' && s[1] <= '9' && !amount(s[2:]):
		return f.word(int(s[1] - '0')), 2
	}
	return "", 0
}

// amount says that what follows "$" and a digit makes money of it: $10, $1.50, $5k.
func amount(rest string) bool {
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		return rest[1] >= '0' && rest[1] <= '9'
	}
	return rest != "" && rest[0] != '_' && wordByte(rest[0])
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (f *filler) word(i int) string {
	if i < 1 || i > len(f.words) {
		return ""
	}
	return f.words[i-1]
}

// braced is what stands between "${" and "}".
func (f *filler) braced(inner string) (value string, ok bool) {
	name, instead, _ := strings.Cut(inner, ":-")
	switch i, err := strconv.Atoi(name); {
	case name == "ARGUMENTS":
		value = f.args
	case name == "@":
		value = strings.Join(f.words, " ")
	case strings.HasPrefix(name, "@:"):
		if value, ok = f.slice(name[2:]); !ok {
			return "", false
		}
	case err == nil && i >= 1 && i <= 99 && name[0] != '+':
		value = f.word(i)
	default:
		return "", false
	}
	if value == "" {
		value = instead
	}
	return value, true
}

// slice is the words of "from" or "from:count", from 1.
func (f *filler) slice(s string) (string, bool) {
	first, count, counted := strings.Cut(s, ":")
	from, err := strconv.Atoi(first)
	if err != nil || from < 0 {
		return "", false
	}
	words := f.words[min(max(from, 1)-1, len(f.words)):]
	if counted {
		n, err := strconv.Atoi(count)
		if err != nil || n < 0 {
			return "", false
		}
		words = words[:min(n, len(words))]
	}
	return strings.Join(words, " "), true
}

package compact

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/tool/todo"
)

// Keep is what the user wants kept word for word. The program writes it into the
// summary; the model never does.
type Keep struct {
	Goal   string
	Pinned []string
	Todos  []todo.Phase
	// Nothing says that no words are kept any more. Without it a Keep that is empty
	// carries on what the previous summary kept.
	Nothing bool
}

// MaxKeep is the most bytes that a section of kept words may have. More is refused:
// to cut them would break what they are for.
const MaxKeep = 256 << 10

// Size is how many bytes the kept words take, which may be MaxKeep.
func (k Keep) Size() int { return len(k.words()) }

func (k Keep) empty() bool { return k.Goal == "" && len(k.Pinned) == 0 && len(k.Todos) == 0 }

// check says what is wrong with the kept words, if that is so.
func (k Keep) check() error {
	if n := k.Size(); n > MaxKeep {
		return fmt.Errorf("the goal, pins and todos have %d bytes, and at most %d are kept word for word: unpin something", n, MaxKeep)
	}
	return nil
}

func (k Keep) words() string {
	var b strings.Builder
	if k.Goal != "" {
		b.WriteString("\nGoal:\n" + k.Goal + "\n")
	}
	for i, p := range k.Pinned {
		fmt.Fprintf(&b, "\nPinned %d:\n%s\n", i+1, p)
	}
	if len(k.Todos) > 0 {
		b.WriteString("\nTodos:\n")
	}
	for _, p := range k.Todos {
		if p.Name != "" {
			b.WriteString(p.Name + ":\n")
		}
		for _, t := range p.Tasks {
			b.WriteString("- [" + string(t.Status) + "] " + t.Content + "\n")
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD") // as a session file can hold it
}

// section writes the kept words between two lines that share a tag. The tag depends
// on the words, and they do not contain it, so none of them can be taken for the
// end of the section.
func (k Keep) section() (text, tag string, err error) {
	if err := k.check(); err != nil {
		return "", "", err
	}
	words := k.words()
	h := fnv.New32a()
	for {
		h.Write([]byte(words))
		tag = fmt.Sprintf("%08x", h.Sum32())
		if !strings.Contains(words, tag) {
			break
		}
	}
	return keepLine(tag) + "\nKept word for word by the program; it holds as it stands.\n" + words + keepEnd(tag), tag, nil
}

func keepLine(tag string) string { return "=== burin keep " + tag + " ===" }
func keepEnd(tag string) string  { return "=== end of burin keep " + tag + " ===" }

// The list of what was dropped stands between these lines. What is in it is cleaned,
// so that it needs no tag.
const (
	droppedLine = "=== burin dropped ==="
	droppedEnd  = "=== end of burin dropped ==="
)

var (
	marks    = regexp.MustCompile(`(?i)=+[ \t]*((?:end of )?burin\b)`)
	fileTags = regexp.MustCompile(`(?is)\s*<(files|read-files|modified-files)>.*?</(files|read-files|modified-files)>`)
	endTag   = regexp.MustCompile(`(?i)<(\s*/\s*summary)`)
)

// disarm takes from words of a model what only the program writes, so that nothing in
// them is later read as the program's: its lines, lists of files, and the end of
// the wrapping in which summaries are sent.
func disarm(s string) string {
	s = marks.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "--- $1")
	s = fileTags.ReplaceAllString(s, "")
	return strings.TrimSpace(endTag.ReplaceAllString(s, "&lt;$1"))
}

// takeApart divides a summary into what a model wrote and the section of kept words.
// Only a section with the tag that the entry's details name is one; the rest of
// what the program wrote is left out, as lists of files of other programs are.
func takeApart(summary, tag string) (prose, kept string) {
	if tag != "" {
		from := strings.Index(summary, keepLine(tag))
		if from >= 0 {
			if n := strings.Index(summary[from:], keepEnd(tag)); n >= 0 {
				end := from + n + len(keepEnd(tag))
				kept = summary[from:end]
				summary = summary[:from] + summary[end:]
			}
		}
	}
	if from := strings.LastIndex(summary, droppedLine); from >= 0 {
		if n := strings.Index(summary[from:], droppedEnd); n >= 0 {
			summary = summary[:from] + summary[from+n+len(droppedEnd):]
		}
	}
	return disarm(summary), kept
}

// errNoSummary means that a model gave nothing to continue with.
var errNoSummary = errors.New("the model gave an empty summary")

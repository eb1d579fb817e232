package memory

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/burin-dev/burin/internal/prose"
)

var (
	//go:embed guidance.md
	guidance string
	//go:embed notes.md
	noting string // how the model remembers something
)

// told are the texts that new sessions are given, the most important first.
func (s Store) told() (texts []string) {
	for _, name := range []string{Notes, Summary} {
		if text, err := s.read(name); err == nil { // burin memory says what can't be read
			if text = strings.TrimSpace(text); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return texts
}

// Section is the part of the system prompt that tells a new session what is remembered, and how
// to remember more. It has at most limit tokens, as count counts them.
func (m Memory) Section(limit int, count func(string) int) string {
	begin := "# Memory\n\n" + strings.TrimSpace(noting)
	told := m.Told(limit-count(begin)-count(guidance), count)
	switch {
	case told != "":
		return begin + "\n\n" + strings.TrimSpace(guidance) + "\n\n" + told
	case count(begin) > limit:
		return ""
	}
	return begin
}

// Told is what new sessions are told: notes and summaries, and which playbooks there are; "" is
// nothing. It has at most limit tokens: of what is longer the summary of the project loses its
// end first, and says so.
func (m Memory) Told(limit int, count func(string) int) string {
	user, project := m.User.told(), m.Project.told()
	left := limit
	if len(user)+len(project) == 0 || left < 2*skillShare { // there is no room for what it is about
		return ""
	}
	share := func(s Store, texts []string, most int) string {
		if len(texts) == 0 {
			return ""
		}
		text := Fence("memory", fmt.Sprintf("from=%q", s.Address("")), fit(strings.Join(texts, "\n\n"), most-32, count))
		left -= count(text)
		return text
	}
	most := left / 4
	if len(project) == 0 {
		most = left
	}
	about := share(m.User, user, most)
	text := share(m.Project, project, left-skillShare)
	const playbooks = "\nPlaybooks for this project, to read when the task is one of them:"
	left -= count(playbooks)
	list := ""
	for _, name := range m.Project.Skills() {
		line := " `" + m.Project.Address(name) + "`"
		if left -= count(line); left >= 0 {
			list += line
		}
	}
	if list != "" {
		text += playbooks + list + "\n"
	}
	return strings.Trim(about+"\n"+text, "\n")
}

// skillShare is how many tokens are left for the names of playbooks.
const skillShare = 200

// fit cuts a text at the end of a line, so that it has at most n tokens.
func fit(text string, n int, count func(string) int) string {
	if count(text) <= n {
		return text
	}
	const note = "\n[The end is left out: it is longer than memories.summaryInjectionTokenLimit.]"
	n -= count(note)
	kept := 0
	for line := range strings.Lines(text) {
		if n -= count(line); n < 0 {
			break
		}
		kept += len(line)
	}
	return strings.TrimRight(text[:kept], "\n") + note
}

// Fence puts a text between tags, which the text can't end.
func Fence(tag, attributes, text string) string {
	if attributes != "" {
		attributes = " " + attributes
	}
	own := regexp.MustCompile(`(?i)<(\s*/?\s*` + regexp.QuoteMeta(tag) + `)`)
	return "<" + tag + attributes + ">\n" + own.ReplaceAllString(strings.TrimSpace(prose.Clean(text, 4)), "&lt;$1") + "\n</" + tag + ">\n"
}

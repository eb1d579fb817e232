package server

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/burin-dev/burin/docs"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/internal/sorting"
	"github.com/burin-dev/burin/session/remote"
)

const (
	maxHelpWords = 200 // bytes of a search in the handbook
	maxHelpFound = 30  // pages that it gives
)

// helpTopics are the pages and sections that people of the app need most: the name of a group after ":", and its topics in the order
// of the list. The others are reached by links and by search.
const helpTopics = `
:chats serve#the-chat-app chat-tools serve#import-and-export-of-chats serve#keys private serve#on-your-home-screen serve#notifications gremlin
:coding serve#coding-sessions tutorial howto/approve howto/plan howto/agents howto/undo howto/review howto/commit agent sessions skills memory mcp lsp
:models serve#providers-of-your-own models howto/models howto/local-model howto/budgets
:server serve serve#people serve#from-other-machines configuration security README
`

// aboutBurin are pages about the making of burin: links lead there, topics and searches don't.
const aboutBurin = " dependencies family-coverage gremlin-coverage left-out own peers plan releasing "

// Help is something of the handbook, which is in the program: a page, or a list of them.
type Help struct {
	Version string      `json:"version"`          // of burin, which the pages are for
	Text    string      `json:"text,omitempty"`   // of a page, in Markdown
	Topics  []HelpTopic `json:"topics,omitempty"` // that people of the app need most, or that were found
}

// HelpTopic is a page of the handbook, or a section of one.
type HelpTopic struct {
	Page    string `json:"page"`              // such as howto/undo
	Section string `json:"section,omitempty"` // the end of its address, as on GitHub: without "#"
	Group   string `json:"group,omitempty"`   // chats, coding, models or server; of what was found none
	Title   string `json:"title"`
	About   string `json:"about"` // how it begins, or what was found in it

	rank int // among what was found
}

// helpRoute gives the handbook to the pages of the app. Nothing of it is kept in memory.
func helpRoute(version string) route {
	return route{
		verb: "GET", path: "/v1/help", needs: remote.Watch,
		about: "Gives topics of the handbook, a page of it, or the 30 best pages that have all words.",
		query: []parameter{{"page", "the name of a page, such as howto/undo"}, {"q", "words, at most 200 bytes"}},
		out:   reflect.TypeFor[Help](),
		serve: func(w http.ResponseWriter, r *http.Request) {
			q, err := queryOf(r)
			is := Help{Version: version}
			switch page, words := q.Get("page"), q.Get("q"); {
			case err != nil:
			case len(words) > maxHelpWords:
				err = fmt.Errorf("%w: q: at most %d bytes", remote.ErrParameters, maxHelpWords)
			case page != "":
				var text []byte
				text, err = fs.ReadFile(docs.Files(), page+".md")
				is.Text = string(text)
				if err != nil {
					fail(w, http.StatusNotFound, "unknown", fmt.Errorf("the handbook has no page %.60q", page))
					return
				}
			default:
				var pages map[string][]helpSection
				if pages, err = readHandbook(); words != "" {
					is.Topics = findHelp(pages, strings.Fields(strings.ToLower(words)))
				} else {
					is.Topics = topicsOf(pages)
				}
			}
			if err != nil {
				failed(w, err)
				return
			}
			unchanged(w, r, is)
		},
	}
}

// unchanged answers with what changes only with the program: who has it already isn't sent it again.
func unchanged(w http.ResponseWriter, r *http.Request, is any) {
	data, err := json.Marshal(is)
	if err != nil {
		failed(w, err)
		return
	}
	sum := sha256.Sum256(data)
	head := w.Header()
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "private, no-cache")
	head.Set("ETag", strconv.Quote(hex.EncodeToString(sum[:12])))
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(data)))
}

// helpSection is what stands between two headings of a page. The first one begins with the page's title.
type helpSection struct{ title, anchor, text string }

// readHandbook reads the pages and takes them apart, by their names.
func readHandbook() (map[string][]helpSection, error) {
	pages := map[string][]helpSection{}
	err := fs.WalkDir(docs.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		page := strings.TrimSuffix(name, ".md")
		if err != nil || d.IsDir() || strings.Contains(aboutBurin, " "+page+" ") {
			return err
		}
		data, err := fs.ReadFile(docs.Files(), name)
		pages[page] = sections(string(data))
		return err
	})
	return pages, err
}

// sections takes a page apart at its headings.
func sections(text string) (all []helpSection) {
	fenced, at, begins := false, 0, 0
	for _, line := range strings.SplitAfter(text+"\n# ", "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if title := strings.TrimLeft(line, "#"); !fenced && len(title) < len(line) && strings.HasPrefix(title, " ") {
			s := helpSection{title: plain(title)}
			if len(all) > 0 {
				all[len(all)-1].text = text[begins:min(at, len(text))]
				s.anchor = anchorOf(s.title)
			}
			all, begins = append(all, s), at+len(line)
		}
		at += len(line)
	}
	return all[:max(0, len(all)-1)] // the last one is only its end
}

// anchorOf is the end of the address of a section, as GitHub makes it of its heading.
func anchorOf(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		case r == ' ':
			return '-'
		}
		return -1
	}, title)
}

// topicsOf are the topics with their titles.
func topicsOf(pages map[string][]helpSection) (all []HelpTopic) {
	group := ""
	for _, name := range strings.Fields(helpTopics) {
		if name[0] == ':' {
			group = name[1:]
		}
		page, anchor, _ := strings.Cut(name, "#")
		for _, s := range pages[page] {
			if s.anchor == anchor {
				all = append(all, HelpTopic{Page: page, Section: anchor, Group: group, Title: s.title, About: opening(s.text)})
				break
			}
		}
	}
	return all
}

var helpLink = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)

// plain is a text without the marks of Markdown, on one line.
func plain(text string) string {
	return prose.Line(strings.NewReplacer("`", "", "*", "", "|", " ").Replace(helpLink.ReplaceAllString(text, "$1")))
}

// opening is the first sentence of a section.
func opening(text string) string {
	for _, part := range strings.Split(text, "\n\n") {
		part = strings.TrimSpace(part)
		if part == "" || strings.IndexAny(part, "#|<-") == 0 || strings.HasPrefix(part, "```") { // no paragraph
			continue
		}
		part = plain(part)
		if i := strings.Index(part, ". "); i > 0 {
			part = part[:i+1]
		}
		return short(strings.TrimSuffix(part, ":"))
	}
	return ""
}

// short is a text that isn't longer than two lines of a page.
func short(text string) string {
	const most = 180
	if len(text) <= most {
		return text
	}
	text = prose.Head(text, most)
	return text[:strings.LastIndexByte(text, ' ')+1] + "…"
}

// findHelp finds the pages that have all words, of 60 at most, those with the words together or in a heading first, and their best sections.
func findHelp(pages map[string][]helpSection, words []string) (found []HelpTopic) {
	words = words[:min(len(words), 60)]
	phrase := strings.Join(words, " ")
	for name, all := range pages {
		seen := uint64(0) // a bit for each word
		best := HelpTopic{Page: name}
		for _, s := range all {
			title, text := strings.ToLower(s.title), strings.ToLower(s.text)
			rank := 0
			for i, word := range words {
				switch {
				case strings.Contains(title, word):
					rank += 101
				case strings.Contains(text, word):
					rank += 100
				default:
					continue
				}
				seen |= 1 << i
			}
			if rank > 0 && strings.Contains(text, phrase) {
				rank += 150
			}
			if rank > best.rank {
				best.rank, best.Section, best.Title, best.About = rank, s.anchor, all[0].title, around(s, phrase, words)
			}
		}
		if best.rank > 0 && seen+1 == 1<<len(words) && name != "README" { // which has the titles of all
			found = append(found, best)
		}
	}
	sorting.Stable(found, func(a, b HelpTopic) int {
		if a.rank == b.rank {
			return strings.Compare(a.Page, b.Page)
		}
		return b.rank - a.rank
	})
	return found[:min(len(found), maxHelpFound)]
}

// around is what stands around the first of the words in a section, the phrase if it is there, after its heading.
func around(s helpSection, phrase string, words []string) string {
	text := plain(s.text)
	lower := strings.ToLower(text)
	at := strings.Index(lower, phrase)
	for _, word := range words {
		if at < 0 {
			at = strings.Index(lower, word)
		}
	}
	const before = 60 // bytes
	if at = min(at, len(text)) - before; at > 0 {
		text = "…" + text[at+strings.IndexByte(text[at:]+" ", ' ')+1:]
	}
	if s.anchor != "" {
		text = s.title + ": " + text
	}
	return short(text)
}

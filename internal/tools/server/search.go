package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool"
)

// SearchTool is the name of the tool that searches; sessions of the pi family have it.
const SearchTool = "search_tool_bm25"

const (
	defaultLimit = 8
	maxSummary   = 200 // characters of a description that are searched and shown
)

// query are the arguments of a search.
type query struct {
	Query string `json:"query" jsonschema:"Words for what you want to do, such as 'create issue' or 'list calendar events'"`
	Limit int    `json:"limit,omitempty" jsonschema:"Tools to add at most; 8 if missing"`
}

// Match is a tool that was found.
type Match struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	Server      string   `json:"server_name"`
	Tool        string   `json:"mcp_tool_name"`
	Keys        []string `json:"schema_keys"`
	Score       float64  `json:"score"`
}

// Found are the details of a search.
type Found struct {
	Query     string   `json:"query"`
	Limit     int      `json:"limit"`
	Total     int      `json:"total_tools"`
	Activated []string `json:"activated_tools"`
	Selected  []string `json:"active_selected_tools"`
	Tools     []Match  `json:"tools"`
}

// Restore gives the names that a session's last search left, from the details of its result.
func Restore(details json.RawMessage) []string {
	var f Found
	if json.Unmarshal(details, &f) != nil {
		return nil
	}
	return f.Selected
}

// search makes the tool that searches; nil if all tools can be sent.
func (k *Kit) search(tools int) *tool.Tool {
	if k.o.Search < 0 || tools <= k.o.Search {
		return nil
	}
	counts := map[string]int{}
	for _, e := range k.all {
		if !slices.Contains(k.o.Always, e.server) {
			counts[e.server]++
		}
	}
	var servers []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		servers = append(servers, fmt.Sprintf("%s (%s)", name, prose.Count(counts[name], "tool")))
	}
	return tool.New(tool.Definition[query]{
		Name: SearchTool, Label: "Search tools",
		Description: "Find tools of connected MCP servers by words, and add the best matches to your tools for the rest of the session. " +
			"Use it before you say that something cannot be done: these servers have tools that you don't see yet. The tools that were added can be called in your next step.\n\n" +
			"Servers: " + strings.Join(servers, ", "),
		Adjust: func(s *tool.Schema) { one := 1.0; tool.Property(s, "limit").Minimum = &one },
		Run: func(_ context.Context, _ tool.Call, q query) (*tool.Result, error) {
			return k.look(q)
		},
	})
}

// look searches, and adds what it finds.
func (k *Kit) look(q query) (*tool.Result, error) {
	q.Query = strings.TrimSpace(q.Query)
	if q.Query == "" {
		return nil, errors.New("the query is empty: give words for what you want to do")
	}
	words := tokens(q.Query)
	if len(words) == 0 {
		return nil, errors.New("the query must contain at least one letter or number")
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.index == nil {
		k.index = newIndex(k.all)
	}
	found := Found{Query: q.Query, Limit: q.Limit, Activated: []string{}, Tools: []Match{}}
	for _, e := range k.all {
		if !k.offers(e.Name) {
			found.Total++
		}
	}
	var add []*tool.Tool
	for _, hit := range k.index.rank(words) {
		if k.offers(hit.Name) {
			continue
		}
		if len(add) == q.Limit {
			break
		}
		add = append(add, hit.Tool)
		found.Activated = append(found.Activated, hit.Name)
		found.Tools = append(found.Tools, Match{
			Name: hit.Name, Label: hit.Label, Description: summary(hit.Description), Server: hit.server, Tool: hit.plain,
			Keys: hit.keys, Score: math.Round(hit.score*1e6) / 1e6,
		})
	}
	if len(add) > 0 {
		if k.set == nil {
			return nil, errors.New("tools cannot be searched yet: the session is not open")
		}
		if err := k.set.Put(add...); err != nil {
			return nil, err
		}
		k.offered = append(k.offered, add...)
		k.found = append(k.found, found.Activated...)
	}
	found.Selected = slices.Clone(k.found)
	text, err := json.Marshal(struct {
		Query     string   `json:"query"`
		Activated []string `json:"activated_tools"`
		Matches   int      `json:"match_count"`
		Total     int      `json:"total_tools"`
	}{found.Query, found.Activated, len(found.Tools), found.Total})
	if err != nil {
		return nil, err
	}
	return tool.Text(string(text)).WithDetails(found), nil
}

func summary(description string) string { return prose.Cut(prose.Line(description), maxSummary) }

// index finds tools by words: BM25+ over weighted fields.
type index struct {
	docs   []doc
	in     map[string][]posting
	length float64 // of all together
}

type doc struct {
	entry
	keys   []string
	length float64
}

type posting struct {
	doc    int
	weight float64
}

// The parameters of BM25+, and the weights of fields.
const (
	k1, b, delta                                     = 1.2, 0.75, 1.0
	ofName, ofLabel, ofTool, ofServer, ofText, ofKey = 6, 4, 4, 2, 2, 1
)

func newIndex(all []entry) *index {
	x := &index{in: map[string][]posting{}}
	for i, e := range all {
		d := doc{entry: e, keys: schemaKeys(e.Parameters)}
		freq := map[string]float64{}
		add := func(text string, weight float64) {
			for _, w := range tokens(text) {
				freq[w] += weight
				d.length += weight
			}
		}
		add(e.Name, ofName)
		add(e.Label, ofLabel)
		add(e.plain, ofTool)
		add(e.server, ofServer)
		add(summary(e.Description), ofText)
		for _, key := range d.keys {
			add(key, ofKey)
		}
		for w, f := range freq {
			x.in[w] = append(x.in[w], posting{i, f})
		}
		x.docs = append(x.docs, d)
		x.length += d.length
	}
	return x
}

type hit struct {
	doc
	score float64
}

// rank gives the tools in which some word is, the best first.
func (x *index) rank(words []string) []hit {
	n := float64(len(x.docs))
	scores := map[int]float64{}
	for _, w := range words { // a word that is there twice counts twice
		list := x.in[w]
		df := float64(len(list))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		for _, p := range list {
			norm := k1 * (1 - b + b*x.docs[p.doc].length/(x.length/n))
			scores[p.doc] += idf * (p.weight*(k1+1)/(p.weight+norm) + delta)
		}
	}
	hits := make([]hit, 0, len(scores))
	for i, s := range scores {
		if s > 0 {
			hits = append(hits, hit{x.docs[i], s})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Name, b.Name))
	})
	return hits
}

func schemaKeys(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// tokens are the words of a text: camelCase and acronyms are taken apart, marks of letters are
// left out.
func tokens(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(norm.NFKD.String(text))
	for i, r := range runes {
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			end()
			continue
		}
		if unicode.IsUpper(r) && len(word) > 0 {
			last := word[len(word)-1]
			next := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(last) || unicode.IsNumber(last) || unicode.IsUpper(last) && next {
				end()
			}
		}
		word = append(word, r)
	}
	end()
	return words
}

package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/burin-dev/burin/internal/prose"
)

// Hit is an entry that a query found.
type Hit struct {
	Info
	EntryID string `json:"entryId"`
	// Role is who said it: user, assistant, toolResult, custom, summary, or title.
	Role    string   `json:"role"`
	Snippet string   `json:"snippet"` // on one line
	Marks   [][2]int `json:"marks"`   // from and to of what was found in Snippet, in bytes
	Score   float64  `json:"score"`   // the more, the better; comparable within one search
}

// SearchOptions say where is searched.
type SearchOptions struct {
	CWD   string // of this working directory; "" is everywhere
	Limit int    // maximum number of hits, up to 1,000; 0: 50
	// PerSession is how many hits of one session are given at most; 0 is 3.
	PerSession int
}

// What stands around a match in a snippet; the text of entries has none of them.
const (
	markBegin = "\x02"
	markEnd   = "\x03"
)

// snippetWords is how many words a snippet has at most.
const snippetWords = 16

// snippetSize is how many words the snippets of a query have. Where each character is
// one there are more, up to what SQLite gives.
func snippetSize(match string) int {
	if strings.ContainsRune(match, runBreak) || firstRun(match) >= 0 {
		return 64
	}
	return snippetWords
}

// Search finds entries in which all words of a query stand, the best first. A word
// may be a "phrase in quotes", a beginning* of a word, or a -word that must not stand
// there. Upper and lower case, and accents, make no difference. In scripts without
// spaces between words, such as Chinese, Japanese and Thai, a word is found wherever it
// stands. A query without a word to look for finds nothing.
//
// Where more than 5,000 entries match, none is better than another: what was indexed last
// comes first, and Score is 0.
//
// What the files say since the last Update is not found.
func (ix *Index) Search(ctx context.Context, query string, o SearchOptions) (hits []Hit, err error) {
	match := expression(query)
	if match == "" {
		return nil, nil
	}
	if o.Limit <= 0 {
		o.Limit = 50
	}
	o.Limit = min(o.Limit, 1000)
	if o.PerSession <= 0 {
		o.PerSession = 3
	}
	err = ix.with(ctx, func(db *sql.DB) error {
		hits, err = search(ctx, db, match, o)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search sessions: %w", err)
	}
	return hits, nil
}

// maxRanked is how many matches are compared. To weigh one takes some 2 µs, and words that
// stand everywhere weigh next to nothing.
const maxRanked = 5000

// order is how the matches are ordered, and their score.
func order(ctx context.Context, db *sql.DB, match string) (by, score string, err error) {
	var n int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)`, match, maxRanked+1).Scan(&n)
	if n > maxRanked {
		return "words.rowid DESC", "0.0", err
	}
	return "words.rank", "words.rank", err
}

// search finds hits in two steps, because one session may have many thousands of matches
// ahead of the next one: first the matching entries, reading little of each, then the
// excerpts to show.
func search(ctx context.Context, db *sql.DB, match string, o SearchOptions) ([]Hit, error) {
	ids, scores, err := matches(ctx, db, match, o)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, `
		SELECT s.path, s.session, s.cwd, s.name, s.title, s.first, s.created, s.modified, s.size, s.damaged,
			e.id, e.entry, e.role, snippet(words, 0, ?, ?, '…', ?)
		FROM words JOIN entries AS e ON e.id = words.rowid JOIN sessions AS s ON s.id = e.session
		WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? AND +words.rowid IN (SELECT value FROM json_each(?))`, // + keeps it from a search for each
		markBegin, markEnd, snippetSize(match), match, slices.Min(ids), slices.Max(ids), string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[int64]Hit, len(ids))
	for rows.Next() {
		var h Hit
		var id, created, modified int64
		var name, title, first, snippet string
		err := rows.Scan(&h.Path, &h.ID, &h.CWD, &name, &title, &first, &created, &modified, &h.Size, &h.Damaged,
			&id, &h.EntryID, &h.Role, &snippet)
		if err != nil {
			return nil, err
		}
		fileID, at := named(h.Path)
		if h.ID == "" {
			h.ID = fileID
		}
		if h.Created = at; created != 0 {
			h.Created = time.Unix(0, created).UTC()
		}
		h.Modified, h.Draft = time.Unix(0, modified), strings.HasSuffix(h.Path, draftSuffix)
		h.entitle(name, title, first)
		h.Snippet, h.Marks = marked(snippet)
		found[id] = h
	}
	hits := make([]Hit, 0, len(ids))
	for i, id := range ids {
		if h, ok := found[id]; ok { // it was not deleted in between
			h.Score = scores[i]
			hits = append(hits, h)
		}
	}
	return hits, rows.Err()
}

// matches are the entries that are shown, the best first, and their scores. However many
// matches a session has, those of others are found behind them.
func matches(ctx context.Context, db *sql.DB, match string, o SearchOptions) (ids []int64, scores []float64, err error) {
	by, score, err := order(ctx, db, match)
	if err != nil {
		return nil, nil, err
	}
	rows, err := db.QueryContext(ctx, `
		SELECT e.id, e.session, `+score+`
		FROM words JOIN entries AS e ON e.id = words.rowid JOIN sessions AS s ON s.id = e.session
		WHERE words MATCH ? AND (? = '' OR s.cwd = ?)
		ORDER BY `+by, match, recorded(o.CWD), recorded(o.CWD))
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	of := map[int64]int{}
	for len(ids) < o.Limit && rows.Next() {
		var id, session int64
		var rank float64
		if err := rows.Scan(&id, &session, &rank); err != nil {
			return nil, nil, err
		}
		if of[session]++; of[session] <= o.PerSession {
			ids, scores = append(ids, id), append(scores, 0-rank) // not -0
		}
	}
	return ids, scores, rows.Err()
}

// marked puts a snippet on one line and takes the marks out of it.
func marked(s string) (text string, marks [][2]int) {
	var b strings.Builder
	begin, space := -1, false
	for _, r := range s {
		switch {
		case string(r) == markBegin:
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			begin, space = b.Len(), false
		case string(r) == markEnd:
			if begin >= 0 {
				marks = append(marks, [2]int{begin, b.Len()})
			}
			begin = -1
		case r == runBreak:
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = true
		default:
			if space && b.Len() > 0 {
				b.WriteByte(' ')
			}
			space = false
			b.WriteRune(r)
		}
	}
	return b.String(), marks
}

// maxTerms is how many words of a query count.
const maxTerms = 32

// expression is a query in the language of FTS5, in which every word stands between
// quotes; "" if there is nothing to look for.
func expression(query string) string {
	var want, not []string
	rest := plain(query)
	for len(want)+len(not) < maxTerms {
		rest = strings.TrimLeftFunc(rest, unicode.IsSpace)
		if rest == "" {
			break
		}
		var t term
		t, rest = nextTerm(rest)
		if !strings.ContainsFunc(t.text, searchable) {
			continue
		}
		text := `"` + strings.ReplaceAll(broken(t.text), `"`, `""`) + `"`
		if t.prefix {
			text += " *"
		}
		if t.not {
			not = append(not, text)
		} else {
			want = append(want, text)
		}
	}
	if len(want) == 0 {
		return ""
	}
	match := "(" + strings.Join(want, " AND ") + ")"
	if len(not) > 0 {
		match += " NOT (" + strings.Join(not, " OR ") + ")"
	}
	return match
}

// searchable reports whether a character makes words.
func searchable(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

type term struct {
	text        string
	not, prefix bool
}

// nextTerm takes a word or a phrase from the beginning of a query.
func nextTerm(s string) (t term, rest string) {
	if body, ok := strings.CutPrefix(s, "-"); ok && body != "" && !unicode.IsSpace(rune(body[0])) {
		t.not, s = true, body
	}
	if body, ok := strings.CutPrefix(s, `"`); ok {
		t.text, rest, _ = strings.Cut(body, `"`) // one that is not closed goes to the end
		if after, ok := strings.CutPrefix(rest, "*"); ok {
			t.prefix, rest = true, after
		}
		return t, rest
	}
	end := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '"' })
	if end < 0 {
		end = len(s)
	}
	t.text, rest = s[:end], s[end:]
	if body, ok := strings.CutSuffix(t.text, "*"); ok {
		t.text, t.prefix = body, true
	}
	return t, rest
}

// Names gives the sessions of a list the names that were found too far from the ends
// of their files. It takes them from the index as it is.
func (ix *Index) Names(ctx context.Context, list []Info) error {
	names := map[string]string{}
	err := ix.with(ctx, func(db *sql.DB) error {
		rows, err := db.QueryContext(ctx, `SELECT path, name FROM sessions WHERE name != ''`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var path, name string
			if err := rows.Scan(&path, &name); err != nil {
				return err
			}
			names[path] = name
		}
		return rows.Err()
	})
	if err != nil {
		return fmt.Errorf("read the names of sessions: %w", err)
	}
	for i := range list {
		if name := names[list[i].Path]; name != "" && !list[i].named {
			list[i].Title, list[i].named = prose.Short(name, maxFirst), true
		}
	}
	return nil
}

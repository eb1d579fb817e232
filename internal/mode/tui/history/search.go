package history

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
	// maxTerms is how many words of a query count, and maxQuery how many bytes.
	maxTerms = 32
	maxQuery = 4 << 10
)

// Search finds the prompts in which all words of a query stand, the last of them also
// as the beginning of a word: those of the project's folder first, then the newest.
// Where there are none, and for a query without words, those in which the query stands
// as it is. Upper and lower case, and accents of words, make no difference. An empty
// query finds all. A limit of 0 is 50; it is at most 1,000.
//
// It waits for the file and belongs in a goroutine. Where the file cannot be read,
// Problem is told, and the prompts in memory are searched.
func (h *History) Search(ctx context.Context, query string, limit int) []Entry {
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	query = plain(query)
	err := h.flush(ctx)
	if err == nil {
		var found []Entry
		if found, err = h.store.search(ctx, query, h.o.Dir, limit); err == nil && (found != nil || h.o.Home != "") {
			return found
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		h.problem(err)
	}
	return h.remembered(query, limit)
}

// remembered searches the prompts in memory.
func (h *History) remembered(query string, limit int) (found []Entry) {
	words := strings.Fields(strings.ToLower(query))
	h.mu.Lock()
	texts := slices.Clone(h.typed.texts)
	h.mu.Unlock()
	for _, text := range slices.Backward(texts) {
		low := strings.ToLower(text)
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(low, w) }) {
			if found = append(found, Entry{Text: text, Dir: h.o.Dir}); len(found) == limit {
				break
			}
		}
	}
	return found
}

// plain makes a query of what anybody may type.
func plain(query string) string {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(query, ""), "\x00", "")
}

// expression is a query in the language of FTS5, in which every word stands between
// quotes; "" if there is nothing to look for.
func expression(query string) string {
	var terms []string
	for _, word := range strings.Fields(query) {
		if !strings.ContainsFunc(word, searchable) {
			continue
		}
		if terms = append(terms, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`); len(terms) == maxTerms {
			break
		}
	}
	if len(terms) == 0 {
		return ""
	}
	return strings.Join(terms, " AND ") + " *"
}

// searchable reports whether a character makes words.
func searchable(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

// escape makes text stand for itself in LIKE.
func escape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text)
}

const (
	// The order is found without the texts.
	ordered = `SELECT p.id, p.hash FROM %s ORDER BY p.dir = ?2 DESC, p.at DESC, p.id DESC`
	byWords = `words JOIN prompts AS p ON p.id = words.rowid WHERE words MATCH ?1`
	byText  = `prompts AS p WHERE p.text LIKE ?1 ESCAPE '\'`
	byID    = `SELECT dir, at, text FROM prompts WHERE id = ?`
	// all are the newest, those of a folder first, texts included.
	all = `SELECT p.dir, p.at, p.text FROM (
			SELECT id, dir = ?1 AS here, at FROM prompts ORDER BY here DESC, at DESC, id DESC LIMIT ?2
		) AS f JOIN prompts AS p ON p.id = f.id ORDER BY f.here DESC, f.at DESC, f.id DESC`
)

func (s *store) search(ctx context.Context, query, dir string, limit int) (found []Entry, err error) {
	err = s.with(ctx, false, func(db *sql.DB) error {
		if match := expression(query); match != "" {
			if found, err = pick(ctx, db, byWords, match, dir, limit); err != nil || len(found) > 0 {
				return err
			}
		}
		found, err = pick(ctx, db, byText, "%"+escape(strings.TrimSpace(query))+"%", dir, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("search the prompt history: %w", err)
	}
	return found, nil
}

// newest gives the prompts that Prefix knows, each once, those of dir and then the
// newest last.
func (s *store) newest(ctx context.Context, dir string) (texts []string, err error) {
	err = s.with(ctx, false, func(db *sql.DB) error {
		texts = nil
		room, seen := maxMemory, map[string]bool{}
		rows, err := db.QueryContext(ctx, all, dir, MaxPrompts)
		if err != nil {
			return err
		}
		return each(rows, func(e Entry) bool {
			if !seen[e.Text] {
				seen[e.Text] = true
				texts = append(texts, e.Text)
				room -= len(e.Text)
			}
			return room > 0
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the prompt history: %w", err)
	}
	slices.Reverse(texts)
	return texts, nil
}

// pick gives the first of what a condition finds, each text once: the same may have
// been asked in several folders.
func pick(ctx context.Context, db *sql.DB, from, what, dir string, limit int) (found []Entry, err error) {
	ids, err := rank(ctx, db, from, what, dir, limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		rows, err := db.QueryContext(ctx, byID, id)
		if err != nil {
			return nil, err
		}
		// None if it has gone meanwhile.
		if err := each(rows, func(e Entry) bool { found = append(found, e); return true }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// rank gives the ids of the first of what a condition finds.
func rank(ctx context.Context, db *sql.DB, from, what, dir string, limit int) (ids []int64, err error) {
	rows, err := db.QueryContext(ctx, fmt.Sprintf(ordered, from), what, dir)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	seen := map[string]bool{}
	for len(ids) < limit && rows.Next() {
		var id int64
		var hash []byte
		if err := rows.Scan(&id, &hash); err != nil {
			return nil, err
		}
		if !seen[string(hash)] {
			seen[string(hash)] = true
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}

// each reads rows until do is false.
func each(rows *sql.Rows, do func(Entry) bool) error {
	defer rows.Close()
	for rows.Next() {
		var e Entry
		var at int64
		if err := rows.Scan(&e.Dir, &at, &e.Text); err != nil {
			return err
		}
		e.At = time.Unix(0, at)
		if !do(e) {
			return nil
		}
	}
	return rows.Err()
}

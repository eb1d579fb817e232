package server

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/session/remote"
)

// FoundChats is what a search has found.
type FoundChats struct {
	project.Found
	Cursor string `json:"cursor,omitempty"` // of what comes after these hits, if there is more
}

const (
	defaultHits = 20
	mostHits    = 50
	mostFound   = 1000 // that cursors lead to
)

// finding serves searches in chats.
type finding struct{ in *project.Finder }

// routes are the operations of it.
func (s finding) routes() []route {
	return []route{{
		verb: "GET", path: "/v1/search", needs: remote.Watch, about: "Finds messages and titles of your chats that have all words of a query, and messages of the agents that worked for them, the best first.",
		query: []parameter{
			{"q", "the words. Of the last one the beginning is enough; words in quotes follow each other; accents and capitals don't matter"},
			{"project", "only chats of the project with this id"},
			{"chat", "only the chat with this id"},
			{"from", "only what is not older, as 2026-01-31T12:00:00Z"},
			{"to", "only what is older"},
			{"limit", "how many at most, up to 50. Without it 20"},
			{"cursor", "that of an answer: what comes after it"},
		},
		out: reflect.TypeFor[FoundChats](), serve: s.find,
	}}
}

func (s finding) find(w http.ResponseWriter, r *http.Request) {
	found, err := s.findChats(r)
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, found)
}

func (s finding) findChats(r *http.Request) (found FoundChats, err error) {
	q, err := queryOf(r)
	if err != nil {
		return found, err
	}
	limit, err := q.number("limit", mostHits)
	cursor, err2 := q.number("cursor", mostFound)
	from, err3 := q.time("from")
	to, err4 := q.time("to")
	if err := cmp.Or(err, err2, err3, err4); err != nil {
		return found, err
	}
	limit = cmp.Or(limit, defaultHits)
	found.Found, err = s.in.Search(r.Context(), person(r), project.Query{
		Text: q.Get("q"), Project: q.Get("project"), Chat: q.Get("chat"), From: from, To: to, Limit: int(limit), Offset: int(cursor),
	})
	if next := cursor + limit; next < int64(found.Total) && next <= mostFound {
		found.Cursor = strconv.FormatInt(next, 10)
	}
	return found, err
}

// time is a point in time; the zero one: it isn't given.
func (q query) time(name string) (t time.Time, err error) {
	if !q.Has(name) {
		return t, nil
	}
	if t, err = time.Parse(time.RFC3339, q.Get(name)); err != nil {
		return t, fmt.Errorf("%w: %s: %.40q is not a time such as 2026-01-31T12:00:00Z", remote.ErrParameters, name, q.Get(name))
	}
	return t, nil
}

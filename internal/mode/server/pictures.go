package server

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/remote"
)

// pictureRoute serves the pictures and files of a transcript, which entries and events name by their
// address if they are asked to.
func pictureRoute(s *Server) route {
	return route{
		verb: "GET", path: "/v1/sessions/{id}/picture", needs: remote.Watch, about: "Gives a picture or a file of a message.",
		query: []parameter{{"entry", "id of the entry with the message"}, {"n", "its number among the pieces of the message, from 0"}},
		gives: "application/octet-stream", serve: func(w http.ResponseWriter, r *http.Request) { picture(s, w, r) },
	}
}

// picture serves one of them.
func picture(s *Server, w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	q := r.URL.Query()
	h, err := s.handle(r, id)
	if err != nil {
		failed(w, err)
		return
	}
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil {
		fail(w, http.StatusBadRequest, "", fmt.Errorf("n: %q is not a number", q.Get("n")))
		return
	}
	e, err := h.Transcript().Entry(q.Get("entry"))
	if err != nil {
		failed(w, err)
		return
	}
	if e.Message == nil || n < 0 || n >= len(e.Message.Content) {
		fail(w, http.StatusNotFound, "", fmt.Errorf("entry %s has no piece %d", e.ID, n))
		return
	}
	name, of, data := "picture", "", []byte(nil)
	switch is := e.Message.Content[n].(type) {
	case llm.Image:
		of, data = is.MIME, is.Data
	case llm.Document:
		name, of, data = cmp.Or(is.Name, "file"), is.MIME, is.Data
	}
	if len(data) == 0 {
		fail(w, http.StatusNotFound, "", fmt.Errorf("piece %d of entry %s is neither a picture nor a file", n, e.ID))
		return
	}
	kind, show := kindOf(of)
	download(w.Header(), name, kind, show)
	w.Header().Set("ETag", strconv.Quote(e.ID+"."+strconv.Itoa(n)))
	http.ServeContent(paced{w}, r, "", time.Time{}, bytes.NewReader(data))
}

// pictureAddress is where the pictures and files of a session are; nil: the client wants the bytes.
func pictureAddress(r *http.Request, id string) remote.Address {
	if r.URL.Query().Get("pictures") != "address" {
		return nil
	}
	return func(entry string, n int) string {
		return "/v1/sessions/" + url.PathEscape(id) + "/picture?" + url.Values{"entry": {entry}, "n": {strconv.Itoa(n)}}.Encode()
	}
}

// addressed gives the entries of an answer as the client wants them.
func addressed(r *http.Request, id string, is any) any {
	if at := pictureAddress(r, id); at != nil {
		return at.Entries(is)
	}
	return is
}

package server

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session/remote"
)

// pictureRoute serves the pictures of a transcript, which entries name by their address if they
// are asked to.
func pictureRoute(s *Server) route {
	return route{
		verb: "GET", path: "/v1/sessions/{id}/picture", needs: remote.Watch, about: "Gives a picture of a message.",
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
	is, ok := e.Message.Content[n].(llm.Image)
	if !ok || len(is.Data) == 0 {
		fail(w, http.StatusNotFound, "", fmt.Errorf("piece %d of entry %s is not a picture", n, e.ID))
		return
	}
	kind, show := kindOf(is.MIME)
	download(w.Header(), "picture", kind, show)
	w.Header().Set("ETag", strconv.Quote(e.ID+"."+strconv.Itoa(n)))
	http.ServeContent(paced{w}, r, "", time.Time{}, bytes.NewReader(is.Data))
}

// addressed gives the entries of an answer with the addresses of their pictures in place of the
// bytes, if the client wants that.
func addressed(r *http.Request, id string, is any) any {
	if r.URL.Query().Get("pictures") != "address" {
		return is
	}
	return remote.WithoutPictures(is, func(entry string, n int) string {
		return "/v1/sessions/" + url.PathEscape(id) + "/picture?" + url.Values{"entry": {entry}, "n": {strconv.Itoa(n)}}.Encode()
	})
}

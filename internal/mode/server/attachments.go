package server

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/attachment"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/session/remote"
)

// uploadTime is how long a file may take to come.
const uploadTime = 10 * time.Minute

// attachments serves the files that people attach to chats.
type attachments struct{ kept *project.Attachments }

// routes are the operations on them.
func (s attachments) routes() []route {
	const at = "/v1/chats/{id}/attachments"
	return []route{
		{
			verb: "GET", path: at, needs: remote.Watch, about: "Lists the files that were attached to a chat, the first one first.",
			out: reflect.TypeFor[[]project.Attachment](), serve: s.list,
		},
		{
			verb: "POST", path: at, needs: remote.Steer, about: "Attaches a file to a chat, for a message to come: text, a picture, a PDF or another document.",
			query: []parameter{{"name", "of the file"}}, takes: "application/octet-stream", most: project.MaxAttachment,
			out: reflect.TypeFor[project.Attachment](), created: true, serve: s.add,
		},
		{
			verb: "GET", path: at + "/{file}", needs: remote.Watch, about: "Gives an attached file, or ranges of it.",
			query: []parameter{{"inline", "true: a text or picture is to be shown, not saved"}},
			gives: "application/octet-stream", serve: s.get,
		},
		{
			verb: "GET", path: "/v1/attachments", needs: remote.Watch,
			about: "Lists the files that were attached to your chats, by chat, without those of chats in the trash. A part of the list has up to 100 chats and ends at about 500 files.",
			query: []parameter{{"after", "as the part before said, for the next one"}},
			out:   reflect.TypeFor[project.AllAttachments](), serve: s.all,
		},
		{
			verb: "POST", path: "/v1/attachments/remove", needs: remote.Steer, about: "Removes the attached files of your chats that no message has, and says how many there were.",
			out: reflect.TypeFor[project.AttachedSum](), serve: s.removeUnused,
		},
		{verb: "DELETE", path: at + "/{file}", needs: remote.Steer, about: "Removes an attached file that no message has.", serve: s.remove},
	}
}

func (s attachments) list(w http.ResponseWriter, r *http.Request) {
	all, err := s.kept.List(r.Context(), person(r), r.PathValue("id"))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

func (s attachments) all(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r)
	var all project.AllAttachments
	if err == nil {
		all, err = s.kept.OfAll(r.Context(), person(r), q.Get("after"))
	}
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, all)
}

func (s attachments) removeUnused(w http.ResponseWriter, r *http.Request) {
	removed, err := s.kept.RemoveUnused(r.Context(), person(r))
	if err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, removed)
}

func (s attachments) add(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(uploadTime)) // without it, the sender may take longer
	q, err := queryOf(r)
	var at project.Attachment
	if err == nil {
		at, err = s.kept.Put(r.Context(), person(r), r.PathValue("id"), q.Get("name"), r.Body)
	}
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Location", "/v1/chats/"+r.PathValue("id")+"/attachments/"+at.ID)
	answer(w, http.StatusCreated, at)
}

func (s attachments) get(w http.ResponseWriter, r *http.Request) {
	q, err := queryOf(r)
	var inline bool
	if err == nil {
		inline, err = q.truth("inline")
	}
	var data *attachment.Reader
	var at project.Attachment
	if err == nil {
		data, at, err = s.kept.Open(r.Context(), person(r), r.PathValue("id"), r.PathValue("file"))
	}
	if err != nil {
		failed(w, err)
		return
	}
	base, _, _ := strings.Cut(at.Type, ";")
	kind, show := kindOf(base)
	download(w.Header(), at.Name, kind, show && inline)
	w.Header().Set("ETag", strconv.Quote(at.ID))
	http.ServeContent(paced{w}, r, "", time.Time{}, data)
}

func (s attachments) remove(w http.ResponseWriter, r *http.Request) {
	if err := s.kept.Remove(r.Context(), person(r), r.PathValue("id"), r.PathValue("file")); err != nil {
		failed(w, err)
		return
	}
	answer(w, http.StatusOK, struct{}{})
}

// statusOfAttachment is the status of an error of attachments; 0: it is of something else.
func statusOfAttachment(err error) (status int, code string) {
	switch {
	case errors.Is(err, attachment.ErrUnknown):
		return http.StatusNotFound, ""
	case errors.Is(err, attachment.ErrLarge):
		return http.StatusRequestEntityTooLarge, "large"
	case errors.Is(err, attachment.ErrImage):
		return http.StatusUnprocessableEntity, "image"
	case errors.Is(err, attachment.ErrDamaged):
		return http.StatusInternalServerError, "damaged"
	case errors.Is(err, project.ErrUsed):
		return http.StatusConflict, "used"
	}
	return 0, ""
}

package server

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/burin-dev/burin/internal/chat/gremlin"
	"github.com/burin-dev/burin/session/remote"
)

// storagePath is where clients of GremlinOFA find their storage.
const storagePath = "/storage"

// NewTenant is a key of GremlinOFA to serve.
type NewTenant struct {
	Name     string `json:"name"`
	Tenant   string `json:"tenant"`             // the user id that the application derives from its key
	Password string `json:"password,omitempty"` // the hash that it sends; without one any is good
}

// Registered is a key of GremlinOFA that is served.
type Registered struct {
	ID int64 `json:"id"`
}

// Removal says what goes with a key of GremlinOFA.
type Removal struct {
	Records bool `json:"records,omitempty"` // what clients have stored is deleted, too
}

// tenants serves the operations about the clients of GremlinOFA.
type tenants struct{ storage *gremlin.API } // nil: it is off

func (s tenants) routes() []route {
	return []route{
		{
			verb: "GET", path: "/v1/storage/tenants", needs: remote.Watch, about: "Lists the keys of GremlinOFA that you have registered, and what is stored for each.",
			out: reflect.TypeFor[[]gremlin.Tenant](), serve: s.list,
		},
		{
			verb: "POST", path: "/v1/storage/tenants", needs: remote.Own, about: "Serves the clients with a key of GremlinOFA from now on.",
			in: reflect.TypeFor[NewTenant](), out: reflect.TypeFor[Registered](), created: true, serve: s.register,
		},
		{
			verb: "POST", path: "/v1/storage/tenants/{id}/remove", needs: remote.Own, about: "Stops serving the clients with a key of GremlinOFA.",
			in: reflect.TypeFor[Removal](), serve: s.unregister,
		},
	}
}

// on reports whether clients of GremlinOFA are served; false: the request is answered.
func (s tenants) on(w http.ResponseWriter) bool {
	if s.storage == nil {
		fail(w, http.StatusNotFound, "", errors.New("the storage of GremlinOFA is off: set server.storage to true and start the server again"))
	}
	return s.storage != nil
}

func (s tenants) list(w http.ResponseWriter, r *http.Request) {
	if !s.on(w) {
		return
	}
	all, err := s.storage.Tenants.List(r.Context(), person(r))
	if err != nil {
		unable(w, fmt.Errorf("list the keys: %w", err))
		return
	}
	answer(w, http.StatusOK, all)
}

func (s tenants) register(w http.ResponseWriter, r *http.Request) {
	var in NewTenant
	if !s.on(w) || !read(w, r, &in) {
		return
	}
	id, err := s.storage.Tenants.Register(r.Context(), person(r), in.Name, in.Tenant, in.Password)
	switch {
	case errors.Is(err, gremlin.ErrInvalid):
		fail(w, http.StatusBadRequest, "", err)
	case errors.Is(err, gremlin.ErrOther):
		fail(w, http.StatusConflict, "", err)
	case err != nil:
		unable(w, fmt.Errorf("register the key: %w", err))
	default:
		answer(w, http.StatusCreated, Registered{id})
	}
}

func (s tenants) unregister(w http.ResponseWriter, r *http.Request) {
	var in Removal
	if !s.on(w) || !read(w, r, &in) {
		return
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err == nil {
		err = s.storage.Tenants.Remove(r.Context(), person(r), id, in.Records)
	}
	switch {
	case errors.Is(err, strconv.ErrSyntax), errors.Is(err, strconv.ErrRange), errors.Is(err, gremlin.ErrTenant):
		fail(w, http.StatusNotFound, "", errors.New("you have registered no such key: GET /v1/storage/tenants lists them"))
	case err != nil:
		unable(w, fmt.Errorf("remove the key: %w", err))
	default:
		answer(w, http.StatusOK, struct{}{})
	}
}

// stored answers a request to the storage of GremlinOFA, whose clients have no token of the server and
// may be pages of other origins. What the log has of it are no ids: those of tenants are credentials.
func (s *Server) stored(w http.ResponseWriter, r *http.Request) bool {
	if s.o.Storage == nil || !strings.HasPrefix(r.URL.Path, storagePath+"/") {
		return false
	}
	began, seen := time.Now(), &measured{ResponseWriter: w}
	defer func() {
		if seen.status == http.StatusUnauthorized {
			s.counts.wrong.Add(1)
		}
		r.Pattern = storagePath + "/"
		s.note(r, seen.status, nil, began)
	}()
	http.StripPrefix(storagePath, s.o.Storage).ServeHTTP(seen, r)
	return true
}

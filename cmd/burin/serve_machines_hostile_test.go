package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/customize/config"
)

// Whatever another machine answers, its list is one that the page can show, or a problem: it has 100 sessions at most, each once.
// The token goes nowhere else.
func TestHostileMachines(t *testing.T) {
	t.Parallel()
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	many := strings.Repeat(`{"id":"same"},{},`, 3)
	for i := range 300 {
		many += fmt.Sprintf(`{"id":"s%d"},`, i)
	}
	answers := map[string]string{
		"many": "[" + many + "null]",
		"null": "null", "text": `"x"`, "page": "<html>", "cut": `[{"id":"a"}`, "large": "[" + strings.Repeat(" ", 5<<20) + "]", "type": `[{"id":1}]`,
	}
	set := map[string]config.Machine{}
	for what, text := range answers {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
		defer srv.Close()
		set[what] = config.Machine{Address: srv.URL, TokenEnv: "TOKEN"}
	}
	away := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer away.Close()
	set["redirect"] = config.Machine{Address: away.URL, TokenEnv: "TOKEN"}
	m, err := machinesOf(set, func(name string) string { return map[string]string{"TOKEN": "burin_secret"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	for _, is := range m.list(t.Context()) {
		ids := map[string]bool{}
		for _, s := range is.Sessions {
			ids[s.ID] = true
		}
		switch {
		case is.Sessions == nil || ids[""] || len(ids) != len(is.Sessions) || len(is.Sessions) > 100:
			t.Errorf("%s has %d sessions with %d ids", is.Name, len(is.Sessions), len(ids))
		case is.Name == "many" && (is.Problem != "" || len(is.Sessions) != 100), is.Name != "many" && (is.Problem == "" || len(is.Sessions) > 0):
			t.Errorf("%s has %d sessions and the problem %q", is.Name, len(is.Sessions), is.Problem)
		case strings.Contains(is.Problem, "secret"):
			t.Errorf("%s tells the token: %s", is.Name, is.Problem)
		}
	}
	if len(elsewhere) > 0 {
		t.Errorf("another server got %q", elsewhere)
	}
}

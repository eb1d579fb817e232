package checkup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A check that never comes back is a result, and holds up no other.
func TestRunIsBounded(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	got := Run(t.Context(), []Check{
		{Name: "stuck", Limit: 20 * time.Millisecond, Late: "pull the plug", Run: func(context.Context) []Result {
			<-forever
			return nil
		}},
		{Name: "quick", Run: func(context.Context) []Result { return one(OK, "two\nlines", "") }},
	})
	want := []Result{
		{Check: "stuck", State: Warning, Text: "not done after 20ms", Do: "pull the plug"},
		{Check: "quick", State: OK, Text: "two lines"},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestClock(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", "Thu, 26 Nov 2026 12:00:00 GMT")
	}))
	t.Cleanup(server.Close)
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		now    time.Time
		server string
		want   State
	}{
		{at.Add(time.Minute), server.URL + "/v1", OK},
		{at.Add(-time.Hour), server.URL + "/v1", Problem},
		{at, "http://127.0.0.1:1", Warning},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), "", Problem},
	} {
		got := Clock(func(string) string { return "" }, tt.server, func() time.Time { return tt.now }).Run(t.Context())
		if len(got) != 1 || got[0].State != tt.want {
			t.Errorf("%v %s: %+v, want %s", tt.now, tt.server, got, tt.want)
		}
	}
}

// User and password of a proxy are nobody's business.
func TestProxyHidesPassword(t *testing.T) {
	for _, address := range []string{"http://ada:geheim@127.0.0.1:1", "ada:geheim@127.0.0.1:1", "http://ada:geheim@[::bad"} {
		for _, r := range Proxy(func(name string) string { return map[string]string{"HTTPS_PROXY": address}[name] }).Run(t.Context()) {
			if r.State != Problem || strings.Contains(r.Text+r.Do, "geheim") {
				t.Errorf("%s: %+v", address, r)
			}
		}
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "burin")
	if got := Folder(dir).Run(t.Context()); got[0].State == Problem {
		t.Errorf("a folder that is to be made: %+v", got)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Folder(dir).Run(t.Context()); len(got) != 2 || !strings.Contains(got[1].Do, "chmod 700") {
		t.Errorf("a folder that others can read: %+v", got)
	}
	if got := Locks(dir).Run(t.Context()); got[0].State != OK {
		t.Errorf("locks: %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Folder(filepath.Join(file, "burin")).Run(t.Context()); got[0].State != Problem || got[0].Do == "" {
		t.Errorf("a file in the way: %+v", got)
	}
}

package gremlin

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/burin-dev/burin/internal/chat/store"
	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(pgtest.Main(m)) }

const (
	ann = "8d6f32246b7c9461f3f808b41d218a3dc01eb5250944aa0e7ec92e4abbd3e3ec" // vector V1
	bob = "fa6c7f2733e67f4800063a3607fc7d29b339ea4f046334c533e16d1f4f5a61ad" // vector V2
)

// each runs a test with the API over each kind of storage, where ann and bob are tenants: burin's own
// database of both kinds, and a file of the original.
func each(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	storetest.Each(t, []store.Part{Part}, func(t *testing.T, open func() *store.DB) {
		db := open()
		a := NewAPI(NewRecords(db))
		a.Tenants = NewTenants(db)
		for _, tenant := range []string{ann, bob} {
			if _, err := a.Tenants.Register(t.Context(), "me", "a tenant", tenant, ""); err != nil {
				t.Fatal(err)
			}
		}
		test(t, newClient(t, a))
	})
	t.Run("original", func(t *testing.T) {
		test(t, newClient(t, NewAPI(openRecords(t, filepath.Join(t.TempDir(), "data.db")))))
	})
}

func openRecords(t testing.TB, path string) *Records {
	t.Helper()
	r, err := OpenRecords(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// client asks an API, as ann.
type client struct {
	t      *testing.T
	api    *API
	url    string
	tenant string
}

func newClient(t *testing.T, a *API) *client {
	a.Failed = func(err error) {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	return &client{t, a, srv.URL, ann}
}

// alone runs a part of a test without the rows of others.
func (c *client) alone(t *testing.T, test func(t *testing.T, c *client)) {
	t.Helper()
	other := *c
	other.t = t
	test(t, &other)
	other.want("POST", "/api/_clear-all", "", 204, "")
	other.as(bob).want("POST", "/api/_clear-all", "", 204, "")
}

func (c *client) as(tenant string) *client {
	other := *c
	other.tenant = tenant
	return &other
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

// send sends a request; the head has pairs of names and values.
func (c *client) send(verb, path, body string, head ...string) (*http.Response, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), verb, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json") // the application does so for GET, too
	r.Header.Set("Authorization", basic(c.tenant+":"))
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
		if head[i+1] == "" {
			r.Header.Del(head[i])
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(r) // redirects would be none of the original's
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer, string(data)
}

// want asks, and holds the answer against the status and the body that the original answers with.
func (c *client) want(verb, path, body string, status int, want string, head ...string) *http.Response {
	c.t.Helper()
	answer, got := c.send(verb, path, body, head...)
	if answer.StatusCode != status || got != want {
		c.t.Errorf("%s %.200s: %d %.300s\nwant %d %.300s", verb, path, answer.StatusCode, got, status, want)
	}
	kind := answer.Header.Get("Content-Type")
	if want != "" && kind != "application/json; charset=utf-8" || want == "" && kind != "" {
		c.t.Errorf("%s %s has Content-Type %q", verb, path, kind)
	}
	if h := answer.Header.Get("WWW-Authenticate"); h != "" { // SBE-08
		c.t.Errorf("%s %s has WWW-Authenticate %q", verb, path, h)
	}
	return answer
}

func (c *client) put(table, id, body string) {
	c.t.Helper()
	c.want("PUT", "/api/"+table+"/"+id, body, 204, "")
}

func failed(said string) string { return `{"error":"` + said + `"}` }

// SBE-04, SBE-05, SBE-06, SBE-07, SBE-08: who may ask, and what those are told who may not.
func access(t *testing.T, c *client) {
	c.want("GET", "/health", "", 200, `{"status":"ok"}`, "Authorization", "")
	c.want("GET", "/api/projects", "", 401, failed("Authorization required"), "Authorization", "")
	for _, head := range []string{"basic " + basic(ann)[6:], "Bearer x", "Basic"} {
		c.want("GET", "/api/projects", "", 401, failed("Authorization required"), "Authorization", head)
	}
	for _, head := range []string{basic(":x"), "Basic %%", "Basic ====", "Basic A"} {
		c.want("GET", "/api/projects", "", 401, failed("Invalid credentials format"), "Authorization", head)
	}
	// Node decodes both alphabets, without padding and with anything between.
	encoded := base64.RawURLEncoding.EncodeToString([]byte(ann + ":>>>???"))
	c.want("GET", "/api/projects", "", 200, "[]", "Authorization", "Basic "+encoded[:7]+"\t !"+encoded[7:]+"=x")
	c.want("GET", "/api/projects", "", 200, "[]", "Authorization", basic(ann)) // without a colon
	c.want("GET", "/api/projects", "", 200, "[]", "Authorization", basic(ann+":any password"))
	c.want("GET", "/api/invalid_table", "", 400, failed("Invalid table: invalid_table"))
	c.want("GET", "/api/_clear-all", "", 400, failed("Invalid table: _clear-all"))
	for _, request := range []string{"POST /api/projects", "POST /api/projects/x", "PATCH /api/projects/x", "GET /api", "GET /", "GET /api/projects/x/y", "PUT /api/projects"} {
		verb, path, _ := strings.Cut(request, " ")
		if answer, _ := c.send(verb, path, "{}"); answer.StatusCode != 404 {
			t.Errorf("%s: %d", request, answer.StatusCode)
		}
	}
}

// SBE-11, SBE-12, SBE-13, SBE-14: pages of other origins.
func TestCORS(t *testing.T) {
	c := newClient(t, NewAPI(openRecords(t, filepath.Join(t.TempDir(), "data.db"))))
	said := func(a *http.Response) string {
		h := a.Header
		return strings.Join([]string{fmt.Sprint(a.StatusCode), h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Methods"), h.Get("Access-Control-Allow-Headers"), h.Get("Access-Control-Allow-Credentials")}, "|")
	}
	const all = "|GET, POST, PUT, DELETE, OPTIONS|Content-Type, Authorization|"
	for _, tt := range []struct {
		origins            []string
		verb, origin, auth string
		want               string
	}{
		{nil, "OPTIONS", "https://a.example", "", "401||||"},
		{nil, "GET", "https://a.example", basic(ann), "200||||"},
		{[]string{"*"}, "OPTIONS", "https://a.example", "", "204|*" + all},
		{[]string{"*"}, "GET", "https://a.example", basic(ann), "200|*" + all},
		{[]string{"*"}, "GET", "", "", "401|*" + all},
		{[]string{"https://a.example", "https://b.example"}, "OPTIONS", "https://b.example", "", "204|https://b.example" + all + "true"},
		{[]string{"https://a.example", "https://b.example"}, "GET", "https://b.example", "", "401|https://b.example" + all + "true"},
		{[]string{"https://a.example"}, "OPTIONS", "https://b.example", "", "401||||"},
		{[]string{"https://a.example"}, "GET", "https://b.example", basic(ann), "200||||"},
		{[]string{"https://a.example"}, "GET", "", basic(ann), "200||||"},
	} {
		c.api.Origins = tt.origins
		answer, body := c.send(tt.verb, "/api/projects", "", "Origin", tt.origin, "Authorization", tt.auth)
		if got := said(answer); got != tt.want {
			t.Errorf("%v, %s from %q: %s, want %s", tt.origins, tt.verb, tt.origin, got, tt.want)
		}
		if answer.StatusCode == 204 && (body != "" || answer.Header.Get("Access-Control-Max-Age") == "") {
			t.Errorf("%v: %q %v", tt.origins, body, answer.Header)
		}
		if listed := len(tt.origins) > 0 && tt.origins[0] != "*"; listed != (answer.Header.Get("Vary") == "Origin") {
			t.Errorf("%v: Vary is %q", tt.origins, answer.Header.Get("Vary"))
		}
	}
}

// SBE-15, SBE-16, SBE-19, SBE-26, SBE-33: one record.
func record(t *testing.T, c *client) {
	c.want("GET", "/api/projects/p", "", 404, failed("Record not found"))
	c.put("projects", "p", `{"encryptedData":"a+/=","timestamp":"2024-01-01T00:00:00.000Z","parentId":"x","unencryptedData":"{\"value\": 1}"}`)
	c.want("GET", "/api/projects/p", "", 200, `{"encryptedData":"a+/=","timestamp":"2024-01-01T00:00:00.000Z","unencryptedData":"{\"value\": 1}"}`)
	c.put("projects", "p", `{"encryptedData":"b","parentId":null}`) // what isn't sent is gone
	c.want("GET", "/api/projects/p", "", 200, `{"encryptedData":"b"}`)
	c.want("GET", "/api/projects/_batch?ids=p", "", 200, `{"rows":[{"id":"p","encryptedData":"b"}]}`)
	c.put("projects", "p", `{"encryptedData":"c","timestamp":"","parentId":"","unencryptedData":""}`)
	c.want("GET", "/api/projects/p", "", 200, `{"encryptedData":"c"}`)
	c.want("GET", "/api/projects/_export", "", 200, `{"rows":[{"id":"p","encryptedData":"c"}],"hasMore":false}`)
	for _, body := range []string{"{}", `{"encryptedData":""}`, `{"encryptedData":null}`, "", "[]", `"x"`} {
		c.want("PUT", "/api/projects/p", body, 400, failed("encryptedData is required"))
	}
	c.want("PUT", "/api/projects/p", `{"encryptedData":5}`, 400, failed("encryptedData must not be a number"))
	if answer, _ := c.send("PUT", "/api/projects/p", `{"encryptedData":`); answer.StatusCode != 400 {
		t.Errorf("half a body: %d", answer.StatusCode)
	}
	if answer, _ := c.send("PUT", "/api/projects/p", `{}`, "Content-Encoding", "gzip"); answer.StatusCode != 415 {
		t.Errorf("a compressed body: %d", answer.StatusCode)
	}
	c.want("DELETE", "/api/projects/p", "", 204, "")
	c.want("DELETE", "/api/projects/p", "", 204, "")
	c.want("GET", "/api/projects/p", "", 404, failed("Record not found"))
	answer, _ := c.send("GET", "/api/projects", "")
	if got := answer.Header.Get("Cache-Control"); got != "no-store" { // TRP-40
		t.Errorf("Cache-Control is %q", got)
	}
}

// Whatever text a client sends comes back as the same bytes, in ids too; SBE-30.
func bytesAreKept(t *testing.T, c *client) {
	texts := []string{"a\x00b", "\u2028\u2029<>&", "\"\\\b\f\n\r\t\x01\x1f\x7f", "äß€😀", "(local)", strings.Repeat("x", 200), "a/b", "%41", "..", " "}
	for _, text := range texts {
		quoted := string(appendText(nil, text))
		var back string
		if err := json.Unmarshal([]byte(quoted), &back); err != nil || back != text {
			t.Fatalf("%q is written as %s", text, quoted)
		}
		c.put("chats", "x", `{"encryptedData":`+quoted+`,"timestamp":"t`+quoted[1:]+`,"parentId":`+quoted+`,"unencryptedData":`+quoted+`}`)
		c.want("GET", "/api/chats/x", "", 200, `{"encryptedData":`+quoted+`,"timestamp":"t`+quoted[1:]+`,"unencryptedData":`+quoted+`}`)
		c.want("POST", "/api/vfs_meta/_batch", `{"rows":[{"id":`+quoted+`,"encryptedData":"d"}]}`, 200, `{"saved":1,"skipped":0}`)
		c.want("GET", "/api/vfs_meta/_export?columns=id", "", 200, `{"rows":[{"id":`+quoted+`}],"hasMore":false}`)
		c.want("POST", "/api/_clear-all", "", 204, "")
	}
	// UTF-8 has no lone surrogates: the original's database has U+FFFD for it, too; TRP-08.
	c.put("chats", "x", `{"encryptedData":"d","unencryptedData":"\ud83d"}`)
	c.want("GET", "/api/chats/x", "", 200, "{\"encryptedData\":\"d\",\"unencryptedData\":\"\ufffd\"}")

	c.put("projects", "api_default_webllm_webllm_(local)", `{"encryptedData":"d"}`)
	for _, id := range []string{"api_default_webllm_webllm_(local)", "api_default_webllm_webllm_%28local%29"} {
		c.want("GET", "/api/projects/"+id, "", 200, `{"encryptedData":"d"}`)
	}
	c.put("projects", "a%2Fb%20c%25", `{"encryptedData":"d"}`)
	c.want("GET", "/api/projects/_batch?ids=a/b+c%25&columns=id", "", 200, `{"rows":[{"id":"a/b c%"}]}`)
	c.want("GET", "/api/projects/a%2Fb%20c%25/", "", 200, `{"encryptedData":"d"}`)
	c.want("GET", "/api/projects/%ff", "", 400, failed("Invalid path"))
}

// SBE-32: the words of operations are ids everywhere else.
func reservedIDs(t *testing.T, c *client) {
	for _, id := range []string{"_count", "_export", "_batch"} {
		c.put("projects", id, `{"encryptedData":"d"}`)
	}
	c.want("GET", "/api/projects/_count", "", 200, `{"count":3}`)
	c.want("GET", "/api/projects/_batch?ids=_count,_export,_batch&columns=id", "", 200, `{"rows":[{"id":"_batch"},{"id":"_count"},{"id":"_export"}]}`)
	c.want("DELETE", "/api/projects/_count", "", 204, "")
	c.want("GET", "/api/projects/_count", "", 200, `{"count":2}`)
}

// SBE-17, SBE-18, SBE-20, SBE-25, SBE-27, STO-24, TRP-38: lists, counts, and order.
func TestQuery(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.want("GET", "/api/messages", "", 200, "[]")
		for _, m := range []struct{ id, parent, time string }{
			{"5", "a", "2024-01-03"}, {"4", "a", "2024-01-01"}, {"3", "a", "2024-01-02"}, {"2", "a", "2024-01-02"}, {"1", "b", "2024-01-04"}, {"0", "a", ""},
		} {
			body := `{"encryptedData":"d` + m.id + `","parentId":"` + m.parent + `"`
			if m.time != "" {
				body += `,"timestamp":"` + m.time + `"`
			}
			c.put("messages", m.id, body+"}")
		}
		c.put("messages", "3", `{"encryptedData":"d3","parentId":"a","timestamp":"2024-01-02","unencryptedData":"u"}`) // stays before 2
		list := func(ids string) string {
			var all []string
			for _, id := range ids {
				one := `{"encryptedData":"d` + string(id) + `"}`
				if id == '3' {
					one = `{"encryptedData":"d3","unencryptedData":"u"}`
				}
				all = append(all, one)
			}
			return "[" + strings.Join(all, ",") + "]"
		}
		for query, want := range map[string]string{
			"":                                    "152340",
			"?orderDirection=asc":                 "043251",
			"?orderDirection=desc":                "152340",
			"?orderDirection=up&orderBy=id":       "152340",
			"?orderBy=createdAt":                  "152340",
			"?parentId=a":                         "52340",
			"?parentId=a&orderDirection=asc":      "04325",
			"?parentId=":                          "152340",
			"?parentId=a&parentId=b":              "152340",
			"?parentId=none":                      "",
			"?parentId=a&orderDirection=asc&x=%2": "04325",
		} {
			c.want("GET", "/api/messages"+query, "", 200, list(want))
			c.want("GET", "/api/messages/_count"+query, "", 200, fmt.Sprintf(`{"count":%d}`, len(want)))
		}
		for _, query := range []string{"", "?parentId=", "?parentId=a&parentId=b", "?orderBy=timestamp"} {
			c.want("DELETE", "/api/messages"+query, "", 400, failed("parentId query parameter is required for bulk delete"))
		}
		c.want("DELETE", "/api/messages?parentId=a", "", 204, "")
		c.want("DELETE", "/api/messages?parentId=none", "", 204, "")
		c.want("GET", "/api/messages", "", 200, list("1"))
	})
}

// SBE-22, SBE-26, SBE-29: pages by id.
func exportPages(t *testing.T, c *client) {
	c.want("GET", "/api/messages/_export", "", 200, `{"rows":[],"hasMore":false}`)
	c.put("messages", "b", `{"encryptedData":"db","timestamp":"t","parentId":"p","unencryptedData":"u"}`)
	c.put("messages", "B", `{"encryptedData":"dB","timestamp":""}`)
	c.put("messages", "ä", `{"encryptedData":"dä"}`)
	const b = `{"id":"b","encryptedData":"db","unencryptedData":"u","timestamp":"t","parentId":"p"}`
	c.want("GET", "/api/messages/_export", "", 200, `{"rows":[{"id":"B","encryptedData":"dB"},`+b+`,{"id":"ä","encryptedData":"dä"}],"hasMore":false}`)
	c.want("GET", "/api/messages/_export?afterId=B&columns=%20", "", 200, `{"rows":[`+b+`,{"id":"ä","encryptedData":"dä"}],"hasMore":false}`)
	c.want("GET", "/api/messages/_export?afterId=ä", "", 200, `{"rows":[],"hasMore":false}`)
	c.want("GET", "/api/messages/_export?afterId=ab", "", 200, `{"rows":[`+b+`,{"id":"ä","encryptedData":"dä"}],"hasMore":false}`)
	c.want("GET", "/api/messages/_export?columns=timestamp,+id+,timestamp", "", 200, `{"rows":[{"timestamp":"","id":"B"},{"timestamp":"t","id":"b"},{"id":"ä"}],"hasMore":false}`)
	c.want("GET", "/api/messages/_export?columns=parentId", "", 200, `{"rows":[{},{"parentId":"p"},{}],"hasMore":false}`)
	for _, name := range []string{"userId", "ID", ""} {
		c.want("GET", "/api/messages/_export?columns=id,"+name, "", 400, failed("Invalid column: "+name))
	}

	var rows []string
	for i := range 401 {
		rows = append(rows, fmt.Sprintf(`{"id":"p%03d","encryptedData":"d"}`, i))
	}
	for part := range slices.Chunk(rows, 150) {
		c.want("POST", "/api/projects/_batch", `{"rows":[`+strings.Join(part, ",")+`]}`, 200, fmt.Sprintf(`{"saved":%d,"skipped":0}`, len(part)))
	}
	page := func(from, to int, more bool) string {
		return fmt.Sprintf(`{"rows":[%s],"hasMore":%v}`, strings.Join(rows[from:to], ","), more)
	}
	c.want("GET", "/api/projects/_export", "", 200, page(0, 200, true))
	c.want("GET", "/api/projects/_export?afterId=p199", "", 200, page(200, 400, true))
	c.want("GET", "/api/projects/_export?afterId=p200", "", 200, page(201, 401, false))
	c.want("GET", "/api/projects/_export?afterId=p399", "", 200, page(400, 401, false))
}

// SBE-29: pages end before they have more than 20,000,000 characters as JavaScript counts them. A row
// that is larger stands alone. ACC-16.
func exportedSize(t *testing.T, c *client) {
	if c.api.pageSize != 20_000_000 {
		t.Errorf("a page has %d characters", c.api.pageSize)
	}
	if c.api.Records.file == nil { // one kind of database is enough for the real size
		c.api.pageSize = 2_000_000
	}
	// One character less than half of a page with the id: "😀" is two of them, and four bytes.
	half := strings.Repeat("😀", 100) + strings.Repeat("x", c.api.pageSize/2-200-2)
	for _, id := range []string{"a", "b", "c"} {
		c.put("messages", id, `{"encryptedData":"`+half+`"}`)
	}
	c.put("messages", "d", `{"encryptedData":"`+half+half+half[:2000]+`"}`)
	c.put("messages", "e", `{"encryptedData":"e"}`)
	ids := func(query string) (list string) {
		_, body := c.send("GET", "/api/messages/_export"+query, "")
		var page struct {
			Rows    []struct{ ID string }
			HasMore bool
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Rows {
			list += r.ID
		}
		return fmt.Sprint(list, page.HasMore)
	}
	for query, want := range map[string]string{"": "abtrue", "?afterId=c": "dtrue", "?columns=id": "abcdefalse"} {
		if got := ids(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for data, want := range map[string]string{"c": "abctrue", "cc": "abtrue"} { // with its id 2 characters, which fit, and 3
		c.put("messages", "c", `{"encryptedData":"`+data+`"}`)
		if got := ids(""); got != want {
			t.Errorf("%s: %s, want %s", data, got, want)
		}
	}
	answer, body := c.send("GET", "/api/messages", "")
	if answer.StatusCode != 200 || !json.Valid([]byte(body)) || len(body) < 3*len(half) {
		t.Errorf("all rows: %d, %d bytes", answer.StatusCode, len(body))
	}
}

// SBE-23, SBE-28: some rows by their ids.
func batchGet(t *testing.T, c *client) {
	c.put("messages", "a", `{"encryptedData":"da","parentId":"p"}`)
	c.put("messages", "b", `{"encryptedData":"db","timestamp":"t"}`)
	c.want("GET", "/api/messages/_batch?ids=b,+a+,,none,b", "", 200, `{"rows":[{"id":"a","encryptedData":"da","parentId":"p"},{"id":"b","encryptedData":"db","timestamp":"t"}]}`)
	c.want("GET", "/api/messages/_batch?ids=a,b&columns=timestamp", "", 200, `{"rows":[{},{"timestamp":"t"}]}`)
	c.want("GET", "/api/messages/_batch?ids=none", "", 200, `{"rows":[]}`)
	for _, query := range []string{"", "?ids=", "?ids=+", "?ids=,,", "?ids=a&ids=b"} {
		c.want("GET", "/api/messages/_batch"+query, "", 400, failed("ids query parameter is required"))
	}
	many := strings.Repeat("some_id,", 199) + "a"
	c.want("GET", "/api/messages/_batch?ids=,"+many, "", 200, `{"rows":[{"id":"a","encryptedData":"da","parentId":"p"}]}`)
	c.want("GET", "/api/messages/_batch?ids=b,"+many, "", 400, failed("Maximum 200 IDs per request"))
	c.want("GET", "/api/messages/_batch?ids=a&columns=x", "", 400, failed("Invalid column: x"))
	c.want("GET", "/api/nothing/_batch?ids=a", "", 400, failed("Invalid table: nothing"))
}

// SBE-24, STO-09: many rows at once.
func batchSave(t *testing.T, c *client) {
	c.want("POST", "/api/chats/_batch", `{"rows":[]}`, 200, `{"saved":0,"skipped":0}`)
	c.want("POST", "/api/chats/_batch", `{"rows":[{"id":"a","encryptedData":"1","timestamp":"t","parentId":"p","unencryptedData":"u"},{"id":"b","encryptedData":"1"}]}`, 200, `{"saved":2,"skipped":0}`)
	c.want("POST", "/api/chats/_batch", `{"skipExisting":true,"rows":[{"id":"b","encryptedData":"2"},{"id":"c","encryptedData":"2"},{"id":"c","encryptedData":"3"}]}`, 200, `{"saved":1,"skipped":2}`)
	c.want("GET", "/api/chats/_export", "", 200, `{"rows":[{"id":"a","encryptedData":"1","unencryptedData":"u","timestamp":"t","parentId":"p"},{"id":"b","encryptedData":"1"},{"id":"c","encryptedData":"2"}],"hasMore":false}`)
	for _, skip := range []string{"false", "null", "0", `""`} {
		c.want("POST", "/api/chats/_batch", `{"skipExisting":`+skip+`,"rows":[{"id":"a","encryptedData":"4"}]}`, 200, `{"saved":1,"skipped":0}`)
	}
	c.want("GET", "/api/chats/a", "", 200, `{"encryptedData":"4"}`)
	for _, body := range []string{"", "{}", "[]", `{"rows":null}`, `{"rows":"x"}`} {
		c.want("POST", "/api/chats/_batch", body, 400, failed("rows array is required"))
	}
	for _, bad := range []string{`{"id":"z"}`, `{"id":"","encryptedData":"x"}`, `{"encryptedData":"x"}`, `null`} {
		c.want("POST", "/api/chats/_batch", `{"rows":[{"id":"z","encryptedData":"x"},`+bad+`]}`, 400, failed("Row 1 missing required id or encryptedData"))
	}
	c.want("GET", "/api/chats/z", "", 404, failed("Record not found")) // none was saved
}

// SBE-03, SBE-21, ACC-15: nobody sees, counts, changes or deletes what is another tenant's.
func TestTenantsAreApart(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		other := c.as(bob)
		for _, c := range []*client{c, other} {
			c.put("messages", "x", `{"encryptedData":"`+c.tenant+`","parentId":"p","timestamp":"t"}`)
		}
		for _, c := range []*client{c, other} {
			one := `{"encryptedData":"` + c.tenant + `"`
			c.want("GET", "/api/messages", "", 200, "["+one+"}]")
			c.want("GET", "/api/messages?parentId=p", "", 200, "["+one+"}]")
			c.want("GET", "/api/messages/_count?parentId=p", "", 200, `{"count":1}`)
			c.want("GET", "/api/messages/_export?columns=encryptedData", "", 200, `{"rows":[`+one+`}],"hasMore":false}`)
			c.want("GET", "/api/messages/_batch?ids=x&columns=encryptedData", "", 200, `{"rows":[`+one+`}]}`)
			c.want("POST", "/api/messages/_batch", `{"skipExisting":true,"rows":[{"id":"x","encryptedData":"y"}]}`, 200, `{"saved":0,"skipped":1}`)
		}
		c.put("projects", "own", `{"encryptedData":"y"}`)
		other.want("GET", "/api/projects/own", "", 404, failed("Record not found"))
		other.want("DELETE", "/api/projects/own", "", 204, "")
		c.want("GET", "/api/projects/own", "", 200, `{"encryptedData":"y"}`)
		c.want("DELETE", "/api/messages?parentId=p", "", 204, "")
		other.want("GET", "/api/messages/_count", "", 200, `{"count":1}`)
		c.want("POST", "/api/_clear-all", "nothing that is JSON", 204, "")
		c.want("GET", "/api/projects/_count", "", 200, `{"count":0}`)
		other.want("GET", "/api/messages/_count", "", 200, `{"count":1}`)
	})
}

// STO-03: all tables, and no other.
func allTables(t *testing.T, c *client) {
	for _, table := range strings.Fields("api_definitions models_cache projects chats minion_chats messages attachments memories memory_journals app_metadata vfs_meta vfs_files vfs_versions") {
		c.put(table, "x", `{"encryptedData":"d"}`)
		c.want("GET", "/api/"+table, "", 200, `[{"encryptedData":"d"}]`)
	}
	if len(tables) != 13 {
		t.Errorf("there are %d tables", len(tables))
	}
	for _, table := range []string{"records", "Projects", "gremlin_tenants", "projects%00"} {
		if answer, _ := c.send("PUT", "/api/"+table+"/x", `{"encryptedData":"d"}`); answer.StatusCode != 400 {
			t.Errorf("%s: %d", table, answer.StatusCode)
		}
	}
}

// Bodies of up to 50 MB are taken, and none that is larger, whether or not the client says so first.
func TestBodyLimit(t *testing.T) {
	pacetest.Costly(t)
	each(t, func(t *testing.T, c *client) {
		const frame = `{"encryptedData":""}`
		if c.api.most != 50<<20 {
			t.Errorf("a body has %d bytes", c.api.most)
		}
		if c.api.Records.file == nil { // the same
			c.api.most = 5 << 20
		}
		body := `{"encryptedData":"` + strings.Repeat("x", int(c.api.most)-len(frame)) + `"}`
		c.put("attachments", "x", body)
		answer, got := c.send("GET", "/api/attachments/x", "")
		if answer.StatusCode != 200 || got != body {
			t.Errorf("%d, %d bytes", answer.StatusCode, len(got))
		}
		for _, chunked := range []bool{false, true} {
			r := httptest.NewRequest("PUT", "/api/attachments/x", strings.NewReader(body+" "))
			if chunked {
				r.ContentLength = -1
			}
			r.Header.Set("Authorization", basic(c.tenant))
			w := httptest.NewRecorder()
			c.api.ServeHTTP(w, r)
			if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), fmt.Sprintf("at most %d MB", c.api.most>>20)) {
				t.Errorf("chunked %v: %d %s", chunked, w.Code, w.Body)
			}
		}
		if c.api.Records.file == nil {
			long := strings.Repeat("i", maxKey)
			c.put("projects", long, `{"encryptedData":"d","parentId":"`+long+`"}`)
			c.want("GET", "/api/projects/"+long, "", 200, `{"encryptedData":"d"}`)
			if answer, got := c.send("PUT", "/api/projects/x"+long, `{"encryptedData":"d"}`); answer.StatusCode != 400 {
				t.Errorf("%d %s", answer.StatusCode, got)
			}
		}
	})
}

// SBE-31: what a client is told when the database fails; why is only told to who runs the server.
func TestFailures(t *testing.T) {
	r := openRecords(t, filepath.Join(t.TempDir(), "data.db"))
	c := newClient(t, NewAPI(r))
	var told []error
	c.api.Failed = func(err error) { told = append(told, err) }
	if _, err := r.file.db.Exec(`ALTER TABLE records RENAME TO gone`); err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"PUT /api/chats/x":             "save record",
		"GET /api/chats/x":             "get record",
		"GET /api/chats/_count":        "get record",
		"GET /api/chats":               "query records",
		"DELETE /api/chats/x":          "delete record",
		"DELETE /api/chats?parentId=x": "delete records",
		"POST /api/_clear-all":         "clear data",
		"GET /api/chats/_export":       "export records",
		"GET /api/chats/_batch?ids=x":  "batch get records",
		"POST /api/chats/_batch":       "batch save records",
	} {
		verb, path, _ := strings.Cut(request, " ")
		c.want(verb, path, `{"encryptedData":"d","rows":[{"id":"x","encryptedData":"d"}]}`, 500, failed("Failed to "+want))
	}
	if len(told) != 10 {
		t.Errorf("%d errors were told", len(told))
	}
	for _, err := range told {
		if strings.Contains(err.Error(), ann) {
			t.Errorf("%v tells the tenant", err)
		}
	}
}

// SBE-02: a file that the original has made is used as it is, and one that is new is one of the original's.
func TestOriginalFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	r := openRecords(t, path)
	var sql string
	if err := r.file.db.QueryRow(`SELECT group_concat(name || ':' || type, ' ') FROM (SELECT name, type FROM sqlite_schema ORDER BY name)`).Scan(&sql); err != nil {
		t.Fatal(err)
	}
	if want := "idx_user_table:index idx_user_table_parent:index idx_user_table_parent_ts:index idx_user_table_ts:index records:table sqlite_autoindex_records_1:index"; sql != want {
		t.Errorf("it has %s", sql)
	}
	if _, err := r.file.db.Exec(`INSERT INTO records VALUES ('me', 'chats', 'x', 'd', NULL, NULL, 'u')`); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, NewAPI(openRecords(t, path))).as("me")
	c.want("GET", "/api/chats/x", "", 200, `{"encryptedData":"d","unencryptedData":"u"}`)
	c.put("chats", "y", `{"encryptedData":"d2","timestamp":"t"}`)
	var kinds string
	if err := c.api.Records.file.db.QueryRow(`SELECT userId || typeof(userId) || typeof(id) || typeof(encryptedData) || typeof(timestamp) || typeof(parentId) FROM records WHERE id = 'y'`).Scan(&kinds); err != nil {
		t.Fatal(err)
	}
	if kinds != "metexttexttexttextnull" {
		t.Errorf("a row is kept as %s", kinds)
	}
	if _, err := OpenRecords(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}

// SBE-09, SBE-10: a password that was registered is asked for; ids are nowhere in the database.
func TestTenants(t *testing.T) {
	storetest.Each(t, []store.Part{Part}, func(t *testing.T, open func() *store.DB) {
		db := open()
		tenants := NewTenants(db)
		a := NewAPI(NewRecords(db))
		a.Tenants = tenants
		c := newClient(t, a)
		refused := func(password string) {
			t.Helper()
			answer, body := c.send("GET", "/api/projects", "", "Authorization", basic(ann+":"+password))
			if answer.StatusCode != 401 || !strings.Contains(body, `{"error":"`) || answer.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("with %q: %d %s", password, answer.StatusCode, body)
			}
		}
		register := func(person, name, tenant, password string) int64 {
			t.Helper()
			n, err := tenants.Register(t.Context(), person, name, tenant, password)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		refused("")
		hash := PasswordHash("hunter2")
		n := register("me", "phone", ann, hash)
		refused("")
		refused("hunter2")
		refused(hash[1:])
		c.want("PUT", "/api/projects/x", `{"encryptedData":"1234"}`, 204, "", "Authorization", basic(ann+":"+hash))
		register("you", "other", bob, "")
		if _, err := tenants.Register(t.Context(), "you", "mine", ann, ""); !errors.Is(err, ErrOther) {
			t.Errorf("registered for another: %v", err)
		}
		for _, bad := range [][3]string{{"", ann, ""}, {strings.Repeat("x", 101), ann, ""}, {"x", "short", ""}, {"x", strings.ToUpper(ann), ""}, {"x", ann, "hunter2"}, {"x", ann, strings.Repeat("z", 128)}} {
			if _, err := tenants.Register(t.Context(), "me", bad[0], bad[1], bad[2]); !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		list := func(person string) []Tenant {
			t.Helper()
			all, err := tenants.List(t.Context(), person)
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				if all[i].Created.IsZero() {
					t.Error("no time")
				}
				all[i].Created, all[i].Number = Tenant{}.Created, 0
			}
			return all
		}
		if diff := cmp.Diff([]Tenant{{Name: "phone", Password: true, Rows: 1, Bytes: 4}}, list("me")); diff != "" {
			t.Error(diff)
		}
		if again := register("me", "laptop", ann, ""); again != n {
			t.Errorf("registered again it is %d, not %d", again, n)
		}
		c.want("GET", "/api/projects/x", "", 200, `{"encryptedData":"1234"}`, "Authorization", basic(ann+":anything"))

		for _, table := range []string{"tenants", "records"} { // no form of an id or a password
			rows, err := db.Query(t.Context(), `SELECT * FROM {gremlin_`+table+`}`)
			if err != nil {
				t.Fatal(err)
			}
			names, _ := rows.Columns()
			for rows.Next() {
				values := make([][]byte, len(names))
				into := make([]any, len(names))
				for i := range into {
					into[i] = &values[i]
				}
				if err := rows.Scan(into...); err != nil {
					t.Fatal(err)
				}
				for i, v := range values {
					if bytes.Contains(v, []byte(ann[:16])) || bytes.Contains(v, []byte(hash[:16])) {
						t.Errorf("%s.%s is %q", table, names[i], v)
					}
				}
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				t.Fatal(err)
			}
		}

		if err := tenants.Remove(t.Context(), "you", n, true); !errors.Is(err, ErrTenant) {
			t.Errorf("removed by another: %v", err)
		}
		if err := tenants.Remove(t.Context(), "me", n, false); err != nil {
			t.Fatal(err)
		}
		refused("")
		n = register("me", "phone", ann, "")
		c.want("GET", "/api/projects/_count", "", 200, `{"count":1}`)
		if err := tenants.Remove(t.Context(), "me", n, true); err != nil {
			t.Fatal(err)
		}
		register("me", "phone", ann, "")
		c.want("GET", "/api/projects/_count", "", 200, `{"count":0}`)
		if got := list("you"); len(got) != 1 || got[0].Name != "other" {
			t.Errorf("you have %v", got)
		}
	})
}

// Who may ask, and what for.
func TestAccess(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.alone(t, access)
		c.alone(t, reservedIDs)
		c.alone(t, allTables)
	})
}

// One record, with whatever it holds.
func TestRecord(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.alone(t, record)
		c.alone(t, bytesAreKept)
	})
}

// Many records in a request.
func TestBatches(t *testing.T) {
	each(t, func(t *testing.T, c *client) {
		c.alone(t, batchGet)
		c.alone(t, batchSave)
	})
}

// SBE-22, SBE-29: pages.
func TestExport(t *testing.T) {
	pacetest.Costly(t)
	each(t, func(t *testing.T, c *client) {
		c.alone(t, exportPages)
		c.alone(t, exportedSize)
	})
}

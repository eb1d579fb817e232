package gremlin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"
)

// Limits of the original.
const (
	maxBody    = 50 << 20   // bytes of a request
	exportRows = 200        // rows of a page
	exportSize = 20_000_000 // characters of a page, as JavaScript counts them
	maxIDs     = 200        // of one request
)

// Limits of our own.
const (
	maxBodies = 64 << 20         // bytes of all requests that are read at a time; others wait
	patience  = 30 * time.Second // that a client may take for the next piece
	piece     = 256 << 10        // bytes that are written at once
)

// API serves records to the application. It answers at /health and below /api; a prefix before them is
// taken away by whoever mounts it.
type API struct {
	// Records are what is served.
	Records *Records
	// Tenants are who is served. nil is anybody, whatever the password, as the original does it.
	Tenants *Tenants
	// Origins are the addresses of pages that may ask, "*" alone for all pages. Without any only pages of
	// the server's own address may.
	Origins []string
	// Failed is told why a request failed that the client did nothing wrong with. nil is not.
	Failed func(error)

	bodies   *semaphore.Weighted
	most     int64 // bytes of a request
	pageSize int   // characters of a page
}

// NewAPI makes an API. The fields that it doesn't set may be set before it serves.
func NewAPI(records *Records) *API {
	return &API{Records: records, bodies: semaphore.NewWeighted(maxBodies), most: maxBody, pageSize: exportSize}
}

// columns are those of a row, in the order in which they are written.
var columns = []string{"id", "encryptedData", "unencryptedData", "timestamp", "parentId"}

// ServeHTTP implements [http.Handler]. WWW-Authenticate is never sent: browsers would ask for a
// password by themselves.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store") // each answer is somebody's own, and others change it
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if a.cors(w, r) {
		return
	}
	words, ok := split(r.URL.EscapedPath())
	switch {
	case !ok:
		refuse(w, http.StatusBadRequest, "Invalid path")
	case len(words) == 1 && words[0] == "health" && get(r):
		answer(w, []byte(`{"status":"ok"}`))
	case len(words) > 0 && words[0] == "api":
		if tenant, ok := a.tenant(w, r); ok {
			q := &request{a: a, w: w, r: r, tenant: tenant}
			defer func() { a.bodies.Release(q.held) }()
			a.route(q, words[1:])
		}
	default:
		refuse(w, http.StatusNotFound, "Not found") // the original has a page of HTML there, which no client reads
	}
}

func get(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// split takes a path apart before it decodes it, so that an id may have a slash.
func split(path string) (words []string, ok bool) {
	for word := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(path, "/"), "/"), "/") {
		word, err := url.PathUnescape(word)
		if err != nil || !utf8.ValidString(word) {
			return nil, false
		}
		words = append(words, word)
	}
	return words, true
}

// cors lets pages of other origins ask; true: the request is answered.
func (a *API) cors(w http.ResponseWriter, r *http.Request) bool {
	if len(a.Origins) == 0 {
		return false
	}
	head := w.Header()
	if a.Origins[0] == "*" {
		head.Set("Access-Control-Allow-Origin", "*")
	} else {
		head.Add("Vary", "Origin") // caches must not give one page what another one got
		from := r.Header.Get("Origin")
		if from == "" || !slices.Contains(a.Origins, from) {
			return false
		}
		head.Set("Access-Control-Allow-Origin", from)
		head.Set("Access-Control-Allow-Credentials", "true")
	}
	head.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS")
	head.Set("Access-Control-Allow-Headers", "Content-Type, Authorization")
	if r.Method != http.MethodOptions {
		return false
	}
	head.Set("Access-Control-Max-Age", "600") // each request would be asked for first
	w.WriteHeader(http.StatusNoContent)
	return true
}

// tenant says whose rows a request is about; false: it was refused.
func (a *API) tenant(w http.ResponseWriter, r *http.Request) (any, bool) {
	encoded, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Basic ")
	if !ok {
		refuse(w, http.StatusUnauthorized, "Authorization required")
		return nil, false
	}
	tenant, password, _ := strings.Cut(decodeLoosely(encoded), ":")
	if tenant == "" {
		refuse(w, http.StatusUnauthorized, "Invalid credentials format")
		return nil, false
	}
	if a.Tenants != nil {
		switch err := a.Tenants.admit(r.Context(), tenant, password); {
		case errors.Is(err, ErrTenant):
			refuse(w, http.StatusUnauthorized, "This server doesn't know this key, or the password is wrong: register the key first, with burin admin storage add")
			return nil, false
		case err != nil:
			a.fail(w, r, "Failed to check credentials", err)
			return nil, false
		}
	}
	return a.Records.tenant(tenant), true
}

// decodeLoosely decodes base64 as Node does: with either alphabet, up to the first "=", and without
// regard to other characters.
func decodeLoosely(text string) string {
	text, _, _ = strings.Cut(text, "=")
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '+', r == '/':
			return r
		case r == '-':
			return '+'
		case r == '_':
			return '/'
		}
		return -1
	}, text)
	if len(text)%4 == 1 {
		text = text[:len(text)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil { // nothing is left that could be wrong
		return ""
	}
	return strings.ToValidUTF8(string(raw), "\ufffd")
}

// request is one that was let in.
type request struct {
	a      *API
	w      http.ResponseWriter
	r      *http.Request
	tenant any
	table  string
	held   int64 // bytes of bodies
}

// route finds what a request wants. The ids of operations are such only where they stand: a record may
// have one as its id, too.
func (a *API) route(q *request, words []string) {
	verb := q.r.Method
	if verb == http.MethodHead {
		verb = http.MethodGet
	}
	if len(words) == 1 && words[0] == "_clear-all" && verb == http.MethodPost {
		q.done("Failed to clear data", a.Records.clear(q.r.Context(), q.tenant))
		return
	}
	var serve func()
	switch len(words) {
	case 1:
		serve = map[string]func(){http.MethodGet: q.query, http.MethodDelete: q.removeChildren}[verb]
	case 2:
		id := words[1]
		switch verb + " " + id {
		case "GET _export":
			serve = q.export
		case "GET _batch":
			serve = q.named
		case "GET _count":
			serve = q.count
		case "POST _batch":
			serve = q.saveAll
		default:
			serve = map[string]func(){
				http.MethodGet:    func() { q.get(id) },
				http.MethodPut:    func() { q.save(id) },
				http.MethodDelete: func() { q.remove(id) },
			}[verb]
		}
	}
	switch {
	case serve == nil:
		refuse(q.w, http.StatusNotFound, "Not found")
	case !isTable(words[0]):
		refuse(q.w, http.StatusBadRequest, "Invalid table: "+words[0])
	default:
		q.table = words[0]
		serve()
	}
}

// parameter is a parameter of the address; one that stands there twice means nothing.
func (q *request) parameter(name string) string {
	if all := q.r.URL.Query()[name]; len(all) == 1 {
		return all[0]
	}
	return ""
}

func (q *request) save(id string) {
	var w row
	if !q.body(&w, "encryptedData is required") {
		return
	}
	if w.ID = id; w.EncryptedData == "" {
		refuse(q.w, http.StatusBadRequest, "encryptedData is required")
		return
	}
	_, err := q.a.Records.save(q.r.Context(), q.a.Records.db, q.tenant, q.table, &w, false)
	q.done("Failed to save record", err)
}

func (q *request) saveAll() {
	var in struct {
		Rows         *[]*row `json:"rows"`
		SkipExisting any     `json:"skipExisting"`
	}
	if !q.body(&in, "rows array is required") {
		return
	}
	if in.Rows == nil {
		refuse(q.w, http.StatusBadRequest, "rows array is required")
		return
	}
	rows := make([]row, len(*in.Rows))
	for i, w := range *in.Rows {
		if w == nil || w.ID == "" || w.EncryptedData == "" {
			refuse(q.w, http.StatusBadRequest, fmt.Sprintf("Row %d missing required id or encryptedData", i))
			return
		}
		rows[i] = *w
	}
	keep := in.SkipExisting != nil && in.SkipExisting != false && in.SkipExisting != 0.0 && in.SkipExisting != "" // what JavaScript takes for true
	saved, err := q.a.Records.saveAll(q.r.Context(), q.tenant, q.table, rows, keep)
	if err != nil {
		q.done("Failed to batch save records", err)
		return
	}
	answer(q.w, fmt.Appendf(nil, `{"saved":%d,"skipped":%d}`, saved, len(rows)-saved))
}

func (q *request) get(id string) {
	w, err := q.a.Records.get(q.r.Context(), q.tenant, q.table, id)
	if err != nil {
		q.done("Failed to get record", err)
		return
	}
	if w == nil {
		refuse(q.w, http.StatusNotFound, "Record not found")
		return
	}
	answer(q.w, w.appendJSON(nil, []string{"encryptedData", "timestamp", "unencryptedData"}, false))
}

func (q *request) count() {
	n, err := q.a.Records.count(q.r.Context(), q.tenant, q.table, q.parameter("parentId"))
	if err != nil {
		q.done("Failed to get record", err) // the original counts there
		return
	}
	answer(q.w, fmt.Appendf(nil, `{"count":%d}`, n))
}

func (q *request) remove(id string) {
	q.done("Failed to delete record", q.a.Records.remove(q.r.Context(), q.tenant, q.table, id))
}

func (q *request) removeChildren() {
	parent := q.parameter("parentId")
	if parent == "" {
		refuse(q.w, http.StatusBadRequest, "parentId query parameter is required for bulk delete")
		return
	}
	q.done("Failed to delete records", q.a.Records.removeChildren(q.r.Context(), q.tenant, q.table, parent))
}

// query lists rows, the newest first unless the oldest are asked for. orderBy means nothing: there are
// only times to go by.
func (q *request) query() {
	all, err := q.a.Records.children(q.r.Context(), q.tenant, q.table, q.parameter("parentId"), q.parameter("orderDirection") == "asc")
	if err == nil {
		err = q.list("[", all, []string{"encryptedData", "unencryptedData"}, false, nil, func() string { return "]" })
	}
	q.done("Failed to query records", err)
}

// columns are those that are asked for; false: the request was refused.
func (q *request) columns() (names []string, chosen, ok bool) {
	given := q.parameter("columns")
	if strings.TrimSpace(given) == "" {
		return columns, false, true
	}
	for name := range strings.SplitSeq(given, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(columns, name) {
			refuse(q.w, http.StatusBadRequest, "Invalid column: "+name)
			return nil, false, false
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, true, true
}

func (q *request) export() {
	names, chosen, ok := q.columns()
	if !ok {
		return
	}
	all, err := q.a.Records.after(q.r.Context(), q.tenant, q.table, q.parameter("afterId"), exportRows+1)
	if err == nil {
		more, size := len(all) > exportRows, 0
		fits := func(w *row) bool {
			first := size == 0
			size += w.units(names)
			more = more || !first && size > q.a.pageSize
			return first || size <= q.a.pageSize
		}
		err = q.list(`{"rows":[`, all[:min(exportRows, len(all))], names, chosen, fits, func() string { return `],"hasMore":` + strconv.FormatBool(more) + "}" })
	}
	q.done("Failed to export records", err)
}

func (q *request) named() {
	var ids []string
	for id := range strings.SplitSeq(q.parameter("ids"), ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	switch {
	case len(ids) == 0:
		refuse(q.w, http.StatusBadRequest, "ids query parameter is required")
		return
	case len(ids) > maxIDs:
		refuse(q.w, http.StatusBadRequest, fmt.Sprintf("Maximum %d IDs per request", maxIDs))
		return
	}
	names, chosen, ok := q.columns()
	if !ok {
		return
	}
	all, err := q.a.Records.named(q.r.Context(), q.tenant, q.table, ids)
	if err == nil {
		err = q.list(`{"rows":[`, all, names, chosen, nil, func() string { return "]}" })
	}
	q.done("Failed to batch get records", err)
}

// list answers with rows. Those that are read first are read before the answer begins, so that a
// database that doesn't work gets the status for it.
func (q *request) list(begin string, all found, names []string, chosen bool, fits func(*row) bool, end func() string) error {
	buf, n, sent := []byte(begin), 0, false
	err := q.a.Records.read(q.r.Context(), all, func(w *row) (bool, error) {
		if fits != nil && !fits(w) {
			return false, nil
		}
		if n++; n > 1 {
			buf = append(buf, ',')
		}
		buf = w.appendJSON(buf, names, chosen)
		if len(buf) < piece {
			return true, nil
		}
		q.send(buf)
		buf, sent = buf[:0], true
		return true, nil
	})
	if err != nil && sent {
		q.a.tell(q.r, err)
		panic(http.ErrAbortHandler) // what has come must not look like all
	}
	if err == nil {
		q.send(append(buf, end()...))
	}
	return err
}

// send writes a piece of an answer, to a client that takes it. Else the request ends.
func (q *request) send(data []byte) {
	q.w.Header().Set("Content-Type", "application/json; charset=utf-8")
	out := http.NewResponseController(q.w)
	for part := range slices.Chunk(data, piece) {
		_ = out.SetWriteDeadline(time.Now().Add(patience)) // where there are none, nobody is slow
		if _, err := q.w.Write(part); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// done ends a request that has no answer of its own.
func (q *request) done(failed string, err error) {
	switch {
	case errors.Is(err, errLong):
		refuse(q.w, http.StatusBadRequest, err.Error())
	case err != nil:
		q.a.fail(q.w, q.r, failed, err)
	case q.w.Header().Get("Content-Type") == "":
		q.w.WriteHeader(http.StatusNoContent)
	}
}

func (a *API) fail(w http.ResponseWriter, r *http.Request, said string, err error) {
	a.tell(r, err)
	refuse(w, http.StatusInternalServerError, said)
}

// tell tells why a request failed, without what it said: there are ids in it.
func (a *API) tell(r *http.Request, err error) {
	if a.Failed != nil && r.Context().Err() == nil {
		a.Failed(fmt.Errorf("storage of GremlinOFA: %s: %w", r.Method, err))
	}
}

// body reads what a client has sent; false: the request was refused. wrong is what is said of something
// else than an object with fields.
func (q *request) body(into any, wrong string) bool {
	size := q.r.ContentLength
	if size < 0 {
		size = q.a.most
	}
	if encoding := q.r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		refuse(q.w, http.StatusUnsupportedMediaType, "Content-Encoding must be identity")
		return false
	}
	large := func() bool {
		q.w.Header().Set("Connection", "close") // nobody reads the rest
		refuse(q.w, http.StatusRequestEntityTooLarge, fmt.Sprintf("A request has at most %d MB", q.a.most>>20))
		return false
	}
	if size > q.a.most {
		return large()
	}
	if q.a.bodies.Acquire(q.r.Context(), size) != nil {
		return false // the client has gone
	}
	q.held = size
	var data bytes.Buffer
	data.Grow(int(q.r.ContentLength+1) + bytes.MinRead)
	conn := http.NewResponseController(q.w)
	_, err := data.ReadFrom(&patient{http.MaxBytesReader(q.w, q.r.Body, q.a.most), conn})
	_ = conn.SetReadDeadline(time.Time{}) // it would end the request later
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return large()
		}
		refuse(q.w, http.StatusBadRequest, "The request can't be read")
		return false
	}
	if data.Len() == 0 {
		data.WriteString("{}")
	}
	err = json.Unmarshal(data.Bytes(), into)
	if of, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		said := wrong
		if of.Field != "" && of.Field != "rows" {
			said = of.Field + " must not be a " + of.Value
		}
		refuse(q.w, http.StatusBadRequest, said)
		return false
	}
	if err != nil {
		refuse(q.w, http.StatusBadRequest, "Invalid JSON: "+err.Error())
	}
	return err == nil
}

// patient reads from a client for as long as something comes.
type patient struct {
	io.Reader
	conn *http.ResponseController
}

func (p *patient) Read(b []byte) (int, error) {
	_ = p.conn.SetReadDeadline(time.Now().Add(patience)) // where there are none, nobody is slow
	return p.Reader.Read(b)
}

// answer writes JSON.
func answer(w http.ResponseWriter, data []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(data) // who has gone reads nothing
}

// refuse answers with an error as the original has it: the application shows its text.
func refuse(w http.ResponseWriter, status int, said string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(appendText([]byte(`{"error":`), said), '}')) // the same
}

// appendJSON writes columns of a row. Those without a value are left out, and so are empty ones unless
// the columns were chosen.
func (w *row) appendJSON(to []byte, names []string, chosen bool) []byte {
	begin := byte('{')
	for _, name := range names {
		v := w.column(name)
		if v == nil || *v == "" && !chosen {
			continue
		}
		to = append(append(append(to, begin, '"'), name...), '"', ':')
		to = appendText(to, *v)
		begin = ','
	}
	if begin == '{' {
		to = append(to, begin)
	}
	return append(to, '}')
}

func (w *row) column(name string) *string {
	switch name {
	case "id":
		return &w.ID
	case "encryptedData":
		return &w.EncryptedData
	case "timestamp":
		return w.Timestamp
	case "parentId":
		return w.ParentID
	}
	return w.UnencryptedData
}

// units counts the characters of columns as JavaScript does, in UTF-16.
func (w *row) units(names []string) (n int) {
	for _, name := range names {
		if v := w.column(name); v != nil {
			for _, c := range []byte(*v) {
				if c < 0x80 || c >= 0xc0 { // the first byte of a character
					n++
				}
				if c >= 0xf0 { // which takes two there
					n++
				}
			}
		}
	}
	return n
}

// appendText writes a string as JSON.stringify does, which escapes less than package json.
func appendText(to []byte, s string) []byte {
	const hex = "0123456789abcdef"
	to = append(to, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		to = append(to, s[from:i]...)
		from = i + 1
		if at := strings.IndexByte("\"\\\b\f\n\r\t", c); at >= 0 {
			to = append(to, '\\', `"\bfnrt`[at])
		} else {
			to = append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(to, s[from:]...), '"')
}

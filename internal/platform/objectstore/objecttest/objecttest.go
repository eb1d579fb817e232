// Package objecttest is a service like S3 for tests: it keeps objects in memory, checks
// signatures by its own reading of Signature Version 4, and fails as it is told to.
package objecttest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What requests must be made with.
const (
	Bucket = "quince"
	Region = "eu-test-1"
	ID     = "AKIDTEST"
	Secret = "secret/of+the test"
	Token  = "session token"
)

// pageSize is how many objects a page of a list has.
const pageSize = 3

// Server is the service.
type Server struct {
	URL string

	mu       sync.Mutex
	objects  map[string]object
	uploads  map[string]map[int][]byte
	next     int
	faults   []Fault
	requests int
}

type object struct {
	data []byte
	at   time.Time
}

// Fault is how a request fails.
type Fault int

// The faults.
const (
	SlowDown  Fault = iota + 1 // 503, before anything is done
	Truncated                  // it is done, and the answer is cut off
	Late                       // CompleteMultipartUpload: 200, and then an error
)

// Start starts the service; it ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{objects: map[string]object{}, uploads: map[string]map[int][]byte{}}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.URL = h.URL
	return s
}

// Fail has the next requests fail, one after the other; 0 lets one through.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Keys are those of all objects, and Uploads how many uploads have neither ended nor been given up.
func (s *Server) Keys() (keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Uploads is how many have not ended.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Requests is how many there were.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Object is the content of one; changed, it is what is got from then on.
func (s *Server) Object(key string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[key].data
}

// Set makes an object as old as it says.
func (s *Server) Set(key string, data []byte, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = object{data, at}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if err := verify(r, body); err != nil {
		refuse(w, http.StatusForbidden, "SignatureDoesNotMatch", err.Error())
		return
	}
	fault := Fault(0)
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	key, ok := keyOf(r)
	switch {
	case fault == SlowDown:
		refuse(w, http.StatusServiceUnavailable, "SlowDown", "Reduce your request rate.")
		return
	case !ok:
		refuse(w, http.StatusNotFound, "NoSuchBucket", "no such bucket")
		return
	case fault == Late && r.Method == http.MethodPost && r.URL.Query().Get("uploadId") != "":
		_, _ = io.WriteString(w, "<Error><Code>InternalError</Code><Message>again</Message></Error>")
		return
	}
	answer := httptest.NewRecorder()
	s.answer(answer, r, key, body)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
	if fault != Truncated {
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()+1)) // more than comes
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
	panic(http.ErrAbortHandler)
}

// keyOf is the object of a request, in the path or in the name of the host.
func keyOf(r *http.Request) (key string, ok bool) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if strings.HasPrefix(r.Host, Bucket+".") {
		return path, true
	}
	bucket, key, _ := strings.Cut(path, "/")
	return key, bucket == Bucket
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, key string, body []byte) {
	query := r.URL.Query()
	upload := query.Get("uploadId")
	parts, known := s.uploads[upload]
	if upload != "" && !known {
		refuse(w, http.StatusNotFound, "NoSuchUpload", "no such upload")
		return
	}
	switch {
	case r.Method == http.MethodPost && query.Has("uploads"):
		s.next++
		id := fmt.Sprintf("upload+/=%d", s.next)
		s.uploads[id] = map[int][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case r.Method == http.MethodPut && upload != "":
		n, err := strconv.Atoi(query.Get("partNumber"))
		if err != nil || n < 1 || n > 10_000 {
			refuse(w, http.StatusBadRequest, "InvalidArgument", "partNumber")
			return
		}
		parts[n] = body
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodPost && upload != "":
		s.complete(w, key, upload, parts, body)
	case r.Method == http.MethodDelete && upload != "":
		delete(s.uploads, upload)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		s.objects[key] = object{body, time.Now()}
		w.Header().Set("ETag", tag(body))
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && query.Get("list-type") == "2":
		s.list(w, query)
	case r.Method == http.MethodGet:
		s.get(w, r, key)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed", r.Method)
	}
}

func tag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

func (s *Server) complete(w http.ResponseWriter, key, upload string, parts map[int][]byte, body []byte) {
	var list struct {
		Part []struct {
			PartNumber int
			ETag       string
		}
	}
	if err := xml.Unmarshal(body, &list); err != nil || len(list.Part) == 0 {
		refuse(w, http.StatusBadRequest, "MalformedXML", "parts")
		return
	}
	var all []byte
	for i, p := range list.Part {
		data, ok := parts[p.PartNumber]
		if !ok || p.ETag != tag(data) || p.PartNumber != i+1 {
			refuse(w, http.StatusBadRequest, "InvalidPart", "a part that was not uploaded")
			return
		}
		if len(data) < 5<<20 && i < len(list.Part)-1 {
			refuse(w, http.StatusBadRequest, "EntityTooSmall", "a part that is not the last is too small")
			return
		}
		all = append(all, data...)
	}
	delete(s.uploads, upload)
	s.objects[key] = object{all, time.Now()}
	_, _ = io.WriteString(w, "<CompleteMultipartUploadResult><Key>x</Key></CompleteMultipartUploadResult>")
}

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) {
	o, ok := s.objects[key]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey", "no such key")
		return
	}
	var from, to int
	if n, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &from, &to); n != 2 || err != nil || from >= len(o.data) {
		refuse(w, http.StatusRequestedRangeNotSatisfiable, "InvalidRange", r.Header.Get("Range"))
		return
	}
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(o.data[from:min(to+1, len(o.data))])
}

func (s *Server) list(w http.ResponseWriter, query url.Values) {
	type entry struct {
		Key          string
		LastModified time.Time
		Size         int
	}
	var page struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []entry
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
	}
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, query.Get("prefix")) && key > query.Get("continuation-token") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > pageSize {
		page.IsTruncated, page.NextContinuationToken = true, keys[pageSize-1]
		keys = keys[:pageSize]
	}
	for _, key := range keys {
		page.Contents = append(page.Contents, entry{key, s.objects[key].at.UTC(), len(s.objects[key].data)})
	}
	text, err := xml.Marshal(page)
	if err != nil {
		refuse(w, http.StatusInternalServerError, "InternalError", err.Error())
		return
	}
	_, _ = w.Write(text)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}{Code: code, Message: message})
}

// verify checks the signature of a request, and the hashes of its body.
func verify(r *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	if given := r.Header.Get("X-Amz-Content-Sha256"); given != hash {
		return fmt.Errorf("the body's hash is %s, not %q", hash, given)
	}
	if given := r.Header.Get("X-Amz-Checksum-Sha256"); given != "" && given != base64.StdEncoding.EncodeToString(sum[:]) {
		return fmt.Errorf("the checksum is not %s", given)
	}
	if r.Header.Get("X-Amz-Security-Token") != Token {
		return fmt.Errorf("no session token")
	}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	if !ok {
		return fmt.Errorf("it is not signed")
	}
	fields := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	date := r.Header.Get("X-Amz-Date")
	at, err := time.Parse("20060102T150405Z", date)
	if err != nil || time.Since(at).Abs() > 15*time.Minute {
		return fmt.Errorf("the date is %q", date)
	}
	scope := date[:8] + "/" + Region + "/s3/aws4_request"
	if fields["Credential"] != ID+"/"+scope {
		return fmt.Errorf("the credential is %q", fields["Credential"])
	}
	names := strings.Split(fields["SignedHeaders"], ";")
	for _, name := range []string{"host", "x-amz-content-sha256", "x-amz-date"} {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s is not signed", name)
		}
	}
	var headers strings.Builder
	for _, name := range names {
		value := r.Header.Get(name)
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		fmt.Fprintf(&headers, "%s:%s\n", name, strings.TrimSpace(value))
	}
	path, query, _ := strings.Cut(r.RequestURI, "?")
	parameters := strings.Split(query, "&")
	slices.Sort(parameters)
	for i, p := range parameters {
		if p != "" && !strings.Contains(p, "=") {
			parameters[i] = p + "="
		}
	}
	request := strings.Join([]string{r.Method, path, strings.Join(parameters, "&"), headers.String(), fields["SignedHeaders"], hash}, "\n")
	digest := sha256.Sum256([]byte(request))
	sign := []byte("AWS4" + Secret)
	for _, part := range []string{date[:8], Region, "s3", "aws4_request", "AWS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(digest[:])} {
		mac := hmac.New(sha256.New, sign)
		mac.Write([]byte(part))
		sign = mac.Sum(nil)
	}
	if want := hex.EncodeToString(sign); !hmac.Equal([]byte(want), []byte(fields["Signature"])) {
		return fmt.Errorf("the signature is %s, not %s, of %q", want, fields["Signature"], request)
	}
	return nil
}

// Package objectstore keeps objects in a bucket of S3, or of another service with its
// interface: puts, gets, deletes and lists them, and uploads large ones in parts.
//
// Requests are signed (Signature Version 4) with the hash of their bodies, so that a body that
// was changed on the way is refused. What fails for a while (a lost connection, SlowDown, an
// error of the server, an answer that was cut off) is tried again with growing pauses; all
// operations may be repeated. Bodies are in memory: parts of an upload have 8 MB, and who gets
// an object asks for the part they want.
package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Options say which bucket it is.
type Options struct {
	Bucket string
	Region string
	// Endpoint is the address of a service other than Amazon's.
	Endpoint string
	// PathStyle puts the bucket into the path instead of the name of the host.
	PathStyle bool
	// Credentials gives the keys for a request.
	Credentials func(context.Context) (aws.Credentials, error)
	// Client is what requests are made with; nil is one with timeouts.
	Client *http.Client
	// Pause is the one before the first repetition; 0 is 200 ms.
	Pause time.Duration
}

const (
	tries      = 6
	firstPause = 200 * time.Millisecond
	lastPause  = 5 * time.Second
	timeout    = 2 * time.Minute // of one request
	maxError   = 64 << 10        // bytes of an answer that says what is wrong
	maxList    = 16 << 20        // bytes of a page of a list
)

// Bucket is a bucket. Any goroutine may use it.
type Bucket struct {
	options Options
	base    *url.URL
	signer  *v4.Signer
	client  *http.Client
}

// New makes a Bucket. It makes no request.
func New(o Options) (*Bucket, error) {
	at := o.Endpoint
	if at == "" {
		at = "https://s3." + o.Region + ".amazonaws.com"
	}
	base, err := url.Parse(at)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("%q is not the address of an object store, which begins with https://", at)
	}
	if o.Bucket == "" || strings.ContainsAny(o.Bucket, "/?#@:") {
		return nil, fmt.Errorf("%q is not the name of a bucket", o.Bucket)
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	if o.PathStyle || o.Endpoint == "" && strings.Contains(o.Bucket, ".") { // which no certificate fits
		base.Path += "/" + o.Bucket
	} else {
		base.Host = o.Bucket + "." + base.Host
	}
	b := &Bucket{
		options: o, base: base, client: o.Client,
		signer: v4.NewSigner(func(s *v4.SignerOptions) { s.DisableURIPathEscaping = true }),
	}
	if b.client == nil {
		b.client = &http.Client{Timeout: timeout}
	}
	client := *b.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a signature is for one host
	b.client = &client
	return b, nil
}

// Error is what a service has answered.
type Error struct {
	Status  int    `xml:"-"`
	Code    string `xml:"Code"`
	Message string `xml:"Message"`
	region  string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("the object store answered %d", e.Status)
	if e.Code != "" {
		text += " " + e.Code
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.region != "" {
		text += "; the bucket is in the region " + e.region
	}
	return text
}

// Is says that an object that isn't there is a file that isn't there.
func (e *Error) Is(target error) bool {
	return target == fs.ErrNotExist && e.Status == http.StatusNotFound && e.Code != "NoSuchBucket"
}

// again reports whether a request may do better the next time.
func (e *Error) again() bool {
	switch e.Status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return true
	}
	return e.Code == "RequestTimeout" || e.Code == "SlowDown" || e.Code == "XAmzContentSHA256Mismatch" || e.Code == "BadDigest"
}

// call is one request.
type call struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
	want        int   // status
	limit       int64 // bytes of the answer
}

type answer struct {
	header http.Header
	body   []byte
	tries  int
}

// do makes a request until it succeeds, or can't.
func (b *Bucket) do(ctx context.Context, c call) (a answer, err error) {
	pause := firstPause
	if b.options.Pause > 0 {
		pause = b.options.Pause
	}
	for try := 1; ; try++ {
		a, err = b.once(ctx, c)
		a.tries = try
		var refused *Error
		if err == nil || ctx.Err() != nil || try == tries || errors.As(err, &refused) && !refused.again() || errors.Is(err, errCredentials) {
			return a, err
		}
		wait := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return a, ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

var errCredentials = errors.New("no credentials for the object store")

func (b *Bucket) once(ctx context.Context, c call) (a answer, err error) {
	u := *b.base
	raw := escape(u.Path + "/" + c.key)
	u.Path, u.RawPath, u.RawQuery = u.Path+"/"+c.key, raw, strings.ReplaceAll(c.query.Encode(), "+", "%20")
	req, err := http.NewRequestWithContext(ctx, c.method, u.String(), bytes.NewReader(c.body))
	if err != nil {
		return a, err
	}
	req.ContentLength = int64(len(c.body))
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	sum := sha256.Sum256(c.body)
	hash := hex.EncodeToString(sum[:])
	req.Header.Set("X-Amz-Content-Sha256", hash)
	if c.method == http.MethodPut {
		req.Header.Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:])) // which the service keeps
	}
	keys, err := b.options.Credentials(ctx)
	if err != nil {
		return a, fmt.Errorf("%w: %w", errCredentials, err)
	}
	if err := b.signer.SignHTTP(ctx, keys, req, hash, "s3", b.options.Region, time.Now()); err != nil {
		return a, fmt.Errorf("%w: %w", errCredentials, err)
	}
	res, err := b.client.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	limit := c.limit
	if res.StatusCode != c.want {
		limit = maxError
	}
	a.header = res.Header
	a.body, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if res.StatusCode != c.want {
		e := &Error{Status: res.StatusCode}
		_ = xml.Unmarshal(a.body, e) // it says less then
		if res.StatusCode/100 == 3 || e.Code == "AuthorizationHeaderMalformed" {
			e.region = res.Header.Get("X-Amz-Bucket-Region")
		}
		return a, e
	}
	if err == nil && int64(len(a.body)) > limit {
		err = errors.New("the object store answered more than was asked for")
	}
	return a, err
}

// escape is a path as signatures have it.
func escape(path string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
	var b strings.Builder
	for i := range len(path) {
		if strings.IndexByte(unreserved, path[i]) >= 0 {
			b.WriteByte(path[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", path[i])
		}
	}
	return b.String()
}

// Put makes an object, or replaces it.
func (b *Bucket) Put(ctx context.Context, key string, data []byte) error {
	_, err := b.do(ctx, call{method: http.MethodPut, key: key, body: data, want: http.StatusOK, limit: maxError})
	if err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	return nil
}

// Get gives length bytes of an object from an offset on. What isn't there is [fs.ErrNotExist].
func (b *Bucket) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if length <= 0 {
		return nil, nil
	}
	data, err := b.Part(ctx, key, offset, length)
	if err == nil && int64(len(data)) != length {
		err = fmt.Errorf("get %s: %w", key, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Part gives up to length bytes of an object from an offset on, less only at its end. An offset behind the end is an
// [Error] with the status 416.
func (b *Bucket) Part(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	a, err := b.do(ctx, call{
		method: http.MethodGet, key: key, want: http.StatusPartialContent, limit: length,
		header: map[string]string{"Range": fmt.Sprintf("bytes=%d-%d", offset, offset+length-1)},
	})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return a.body, nil
}

// Delete deletes an object; one that isn't there is deleted already.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.do(ctx, call{method: http.MethodDelete, key: key, want: http.StatusNoContent, limit: maxError})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}

// Object is one of a list.
type Object struct {
	Key      string    `xml:"Key"`
	Modified time.Time `xml:"LastModified"`
	Size     int64     `xml:"Size"`
}

// List calls yield with the objects whose keys have a prefix, in the order of their keys. An
// error of yield ends it and is returned.
func (b *Bucket) List(ctx context.Context, prefix string, yield func(Object) error) error {
	for token := ""; ; {
		query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
		if token != "" {
			query.Set("continuation-token", token)
		}
		a, err := b.do(ctx, call{method: http.MethodGet, query: query, want: http.StatusOK, limit: maxList})
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		var page struct {
			Contents  []Object
			Truncated bool   `xml:"IsTruncated"`
			Next      string `xml:"NextContinuationToken"`
		}
		if err := xml.Unmarshal(a.body, &page); err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
		for _, o := range page.Contents {
			if err := yield(o); err != nil {
				return err
			}
		}
		if !page.Truncated {
			return nil
		}
		if page.Next == "" || page.Next == token {
			return fmt.Errorf("list %s: the object store has more, and doesn't say where", prefix)
		}
		token = page.Next
	}
}

package objectstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/burin-dev/burin/internal/platform/objectstore"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
)

func credentials(secret string) func(context.Context) (aws.Credentials, error) {
	return func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: objecttest.ID, SecretAccessKey: secret, SessionToken: objecttest.Token}, nil
	}
}

// open gives a bucket of the service, at a host of its own unless path.
func open(t *testing.T, s *objecttest.Server, path bool, change func(*objectstore.Options)) *objectstore.Bucket {
	t.Helper()
	o := objectstore.Options{
		Bucket: objecttest.Bucket, Region: objecttest.Region, Endpoint: s.URL, PathStyle: path,
		Credentials: credentials(objecttest.Secret), Pause: time.Millisecond,
	}
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at.Host) // whatever the name is
	}}
	t.Cleanup(transport.CloseIdleConnections)
	o.Client = &http.Client{Transport: transport}
	if change != nil {
		change(&o)
	}
	b, err := objectstore.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBucket(t *testing.T) {
	ctx := t.Context()
	for name, path := range map[string]bool{"path": true, "host": false} {
		t.Run(name, func(t *testing.T) {
			s := objecttest.Start(t)
			b := open(t, s, path, nil)
			for i, key := range []string{"a/1", "a/2 ä+%$&=:'(x)~", "a/3", "a/4", "b/5", "a/6", "a/7", "a/8"} {
				if err := b.Put(ctx, key, fmt.Appendf(nil, "content %d", i)); err != nil {
					t.Fatal(err)
				}
			}
			if data, err := b.Get(ctx, "a/2 ä+%$&=:'(x)~", 3, 4); err != nil || string(data) != "tent" {
				t.Errorf("a range: %q, %v", data, err)
			}
			if _, err := b.Get(ctx, "a/1", 5, 100); err == nil {
				t.Error("a range that isn't there")
			}
			if _, err := b.Get(ctx, "none", 0, 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what isn't there: %v", err)
			}
			var keys []string
			err := b.List(ctx, "a/", func(o objectstore.Object) error {
				if o.Size != 9 || time.Since(o.Modified) > time.Minute {
					t.Errorf("%+v", o)
				}
				keys = append(keys, o.Key)
				return nil
			})
			if err != nil || !slices.Equal(keys, []string{"a/1", "a/2 ä+%$&=:'(x)~", "a/3", "a/4", "a/6", "a/7", "a/8"}) {
				t.Errorf("a list of pages: %q, %v", keys, err)
			}
			for range 2 {
				if err := b.Delete(ctx, "a/1"); err != nil {
					t.Error(err)
				}
			}
			if _, err := b.Get(ctx, "a/1", 0, 1); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("deleted: %v", err)
			}
		})
	}
}

func TestUpload(t *testing.T) {
	ctx := t.Context()
	s := objecttest.Start(t)
	b := open(t, s, true, nil)
	source := rand.NewChaCha8([32]byte{})
	for _, size := range []int{0, 1, 8 << 20, 16<<20 - 1, 16 << 20, 20 << 20} {
		data := make([]byte, size)
		_, _ = source.Read(data)
		u := b.Upload("big")
		for piece := range slices.Chunk(data, 1_000_003) {
			if err := u.Write(ctx, piece); err != nil {
				t.Fatal(err)
			}
		}
		// The answer to the last request is lost, or comes late: once it has been done.
		s.Fail(objecttest.SlowDown, objecttest.Truncated, 0, objecttest.Late)
		if err := u.Close(ctx); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		s.Fail()
		if got := s.Object("big"); !bytes.Equal(got, data) {
			t.Errorf("%d bytes became %d", size, len(got))
		}
		for len(s.Keys()) > 0 { // uses up faults that were not reached
			if err := b.Delete(ctx, "big"); err != nil {
				t.Fatal(err)
			}
		}
	}
	u := b.Upload("half")
	if err := u.Write(ctx, make([]byte, 17<<20)); err != nil {
		t.Fatal(err)
	}
	if n := s.Uploads(); n != 1 {
		t.Errorf("%d uploads", n)
	}
	if err := u.Abort(ctx); err != nil || s.Uploads() != 0 || len(s.Keys()) != 0 {
		t.Errorf("given up: %v, %d uploads, %q", err, s.Uploads(), s.Keys())
	}
}

func TestFaults(t *testing.T) {
	ctx := t.Context()
	s := objecttest.Start(t)
	b := open(t, s, true, nil)
	if err := b.Put(ctx, "a", []byte("content")); err != nil {
		t.Fatal(err)
	}
	s.Fail(objecttest.SlowDown, objecttest.Truncated, objecttest.SlowDown)
	if data, err := b.Get(ctx, "a", 0, 7); err != nil || string(data) != "content" {
		t.Errorf("after faults: %q, %v", data, err)
	}
	for range 100 {
		s.Fail(objecttest.SlowDown)
	}
	before := s.Requests()
	if _, err := b.Get(ctx, "a", 0, 7); err == nil || !strings.Contains(err.Error(), "SlowDown") {
		t.Errorf("a service that never answers: %v", err)
	}
	if n := s.Requests() - before; n < 3 || n > 10 {
		t.Errorf("it was asked %d times", n)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.Get(ended, "a", 0, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}

	s = objecttest.Start(t)
	wrong := open(t, s, true, func(o *objectstore.Options) { o.Credentials = credentials("wrong") })
	err := wrong.Put(ctx, "a", nil)
	if err == nil || !strings.Contains(err.Error(), "403 SignatureDoesNotMatch") || s.Requests() != 1 {
		t.Errorf("wrong credentials: %v, after %d requests", err, s.Requests())
	}
	none := open(t, s, true, func(o *objectstore.Options) {
		o.Credentials = func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("look here") }
	})
	if err := none.Put(ctx, "a", nil); err == nil || !strings.Contains(err.Error(), "look here") {
		t.Errorf("no credentials: %v", err)
	}
	other := open(t, s, true, func(o *objectstore.Options) { o.Bucket = "other" })
	if _, err := other.Get(ctx, "a", 0, 1); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a bucket that isn't there: %v", err)
	}
	for _, o := range []objectstore.Options{{Bucket: "a/b", Region: "r"}, {Bucket: "b", Endpoint: "ftp://x"}, {Bucket: "b", Endpoint: "https://me@x"}} {
		if _, err := objectstore.New(o); err == nil {
			t.Errorf("%+v", o)
		}
	}
}

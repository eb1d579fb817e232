package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/chat/store/storetest"
	"github.com/burin-dev/burin/internal/chat/vault"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/objectstore/objecttest"
)

// A rotation while the server runs loses nothing, and the next server has sealed all again.
func TestServeRotation(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	cmd := machine(t, newBrain(t), rpcConfig)
	c := serveIt(t, cmd)
	var one, two struct{ ID string }
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Quince"}, &one)
	var begun struct{ Chat chatOf }
	c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"project": one.ID, "message": map[string]any{"id": "mine", "message": saying("say hello")["message"]}}, &begun)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": "mine"}, nil)
	if said := run(t, cmd, "admin", "rotate-key"); said != "New keys: 1, when they are unlocked: 0\n" {
		t.Errorf("%q", said)
	}
	if said := run(t, cmd, "admin", "rotate-key", ownerPerson); !strings.HasPrefix(said, "New keys: 1,") {
		t.Errorf("%q", said)
	}
	if said := run(t, cmd, "admin", "rotate-key", "--server"); !strings.Contains(said, "Wrapped with it: 3 keys") {
		t.Errorf("%q", said)
	}
	c.must(http.StatusCreated, "POST", "/v1/projects", map[string]any{"name": "Plum"}, &two)
	all := func(c *httpClient) {
		t.Helper()
		for id, name := range map[string]string{one.ID: "Quince", two.ID: "Plum"} {
			var p struct{ Name string }
			c.must(http.StatusOK, "GET", "/v1/projects/"+id, nil, &p)
			if p.Name != name {
				t.Errorf("project %q is called %q", name, p.Name)
			}
		}
	}
	all(c)
	c.end()
	c = serveIt(t, cmd)
	db := storetest.Open(t, filepath.Join(filepath.Dir(cmd.Dir), "burin", "server.db"), serverParts())
	for deadline := time.Now().Add(time.Minute); ; {
		old := 0
		for _, table := range []string{"projects", "chats"} {
			rows, err := db.Query(t.Context(), `SELECT sealed FROM {`+table+`}`)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var sealed []byte
				err := rows.Scan(&sealed)
				if g, err2 := vault.Generation(sealed); err == nil && err2 == nil && g == 3 {
					continue
				} else if err = errors.Join(err, err2); err != nil {
					t.Fatal(err)
				}
				old++
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if old == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d records still have an old key", old)
		}
		<-time.After(20 * time.Millisecond)
	}
	all(c)
	c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/todos", nil, nil) // its transcript opens
}

// With attachments in a bucket, the server starts if the bucket takes them.
func TestServeBucket(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	s := objecttest.Start(t)
	config := rpcConfig + "\nserver:\n  attachments: s3://" + objecttest.Bucket + "/of/burin?region=" + objecttest.Region + "&endpoint=" + s.URL + "\n"
	cmd := machine(t, newBrain(t), config)
	check := func(secret string) (string, error) {
		c := again(cmd)
		c.Env = append(c.Env, "AWS_ACCESS_KEY_ID="+objecttest.ID, "AWS_SECRET_ACCESS_KEY="+secret, "AWS_SESSION_TOKEN="+objecttest.Token)
		c.Args = append(c.Args, "serve", "--check", "--addr", "127.0.0.1:0")
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		err := c.Run()
		return said.String(), err
	}
	if said, err := check("not it"); err == nil || !strings.Contains(said, "403 SignatureDoesNotMatch") || strings.Contains(said, "not it") {
		t.Errorf("with wrong keys: %v, %s", err, said)
	}
	if said, err := check(objecttest.Secret); err != nil {
		t.Errorf("%v: %s", err, said)
	}
	if keys := s.Keys(); len(keys) != 1 || keys[0] != "of/burin/burin-attachments" {
		t.Errorf("objects %q", keys)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(cmd.Dir), "burin", "server.key")); err != nil {
		t.Error(err)
	}
}

package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/llm"
)

// zipOf is an archive of files, each a name and a content.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i]}) // not compressed
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// pictureBytes is a PNG that says where it comes from.
func pictureBytes(t *testing.T, origin string) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.Set(i%64, i/64, color.RGBA{uint8(i * 7), uint8(i * 13), uint8(i >> 4), 255})
	}
	var plain bytes.Buffer
	if err := png.Encode(&plain, img); err != nil {
		t.Fatal(err)
	}
	said := append([]byte("tEXtComment\x00"), origin...)
	chunk := binary.BigEndian.AppendUint32(nil, uint32(len(said)-4))
	chunk = binary.BigEndian.AppendUint32(append(chunk, said...), crc32.ChecksumIEEE(said))
	const head = 8 + 25 // signature and IHDR
	return append(append(bytes.Clone(plain.Bytes()[:head]), chunk...), plain.Bytes()[head:]...)
}

// A file that somebody attaches reaches the model with the message that refers to it. The transcript has
// the reference, and nobody else has anything.
func TestServeAttachments(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	for _, place := range []string{"database", "pieces"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			b := newBrain(t)
			cmd := machine(t, b, rpcConfig+"server: {attachments: "+place+"}\n")
			c := serveIt(t, cmd)
			var begun struct{ Chat chatOf }
			c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{}, &begun)
			id := begun.Chat.ID
			at := "/v1/chats/" + id + "/attachments"
			picture := pictureBytes(t, "quagga street 5")
			var pic, text, spare project.Attachment
			c.send(http.StatusCreated, "POST", at+"?name=me.png", string(picture), &pic)
			c.send(http.StatusCreated, "POST", at+"?name=..%2Fn%22otes%0a.txt", "The word is okapi.\n", &text)
			c.send(http.StatusCreated, "POST", at+"?name=spare.txt", "spare", &spare)
			if pic.Type != "image/png" || pic.Size >= int64(len(picture)) || text.Name != `n"otes .txt` {
				t.Errorf("attached %+v and %+v", pic, text)
			}

			// The model reads both.
			message := map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "image", "url": "attachment:" + pic.ID},
				map[string]any{"type": "document", "url": "attachment:" + text.ID},
				map[string]any{"type": "text", "text": "say I see"},
			}}
			say := func(id string, message map[string]any) {
				t.Helper()
				c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/submit", map[string]any{"id": id, "message": message}, nil)
				c.must(http.StatusOK, "POST", "/v1/sessions/"+begun.Chat.ID+"/wait", map[string]any{"id": id}, nil)
			}
			read := func() (data []byte, said string) {
				t.Helper()
				all := b.srv.Requests()
				for _, m := range all[len(all)-1].Messages {
					for _, block := range m.Content {
						if i, ok := block.(llm.Image); ok {
							data = i.Data
						}
					}
					said += m.Text()
				}
				return data, said
			}
			say("m", message)
			data, said := read()
			if _, err := png.Decode(bytes.NewReader(data)); err != nil || bytes.Contains(data, []byte("quagga")) || !strings.Contains(said, "The word is okapi.") {
				t.Errorf("the model read %d bytes (%v) and %q", len(data), err, said)
			}

			// The transcript gives it as bytes, or by its address.
			var nodes struct{ Nodes []struct{ ID, Role string } }
			c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/nodes", map[string]any{}, &nodes)
			entry := nodes.Nodes[slices.IndexFunc(nodes.Nodes, func(n struct{ ID, Role string }) bool { return n.Role == "user" })].ID
			var entries struct {
				Entries []struct {
					Entry struct {
						Message struct {
							Content []struct{ Type, Data, URL, MIMEType string }
						}
					}
				}
			}
			c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/entries?pictures=address", map[string]any{"ids": []string{entry}}, &entries)
			shown := entries.Entries[0].Entry.Message.Content[0]
			if got := c.send(http.StatusOK, "GET", shown.URL, "", nil); shown.Type != "image" || shown.Data != "" || got != string(data) {
				t.Errorf("a picture by its address: %+v, %d bytes", shown, len(got))
			}
			c.send(http.StatusNotFound, "GET", "/v1/sessions/"+id+"/picture?entry="+entry+"&n=1", "", nil)
			c.send(http.StatusBadRequest, "GET", "/v1/sessions/"+id+"/picture?entry="+entry+"&n=x", "", nil)
			c.must(http.StatusOK, "POST", "/v1/sessions/"+id+"/entries", map[string]any{"ids": []string{entry}}, &entries)
			if is := entries.Entries[0].Entry.Message.Content[0]; is.Data == "" {
				t.Errorf("a picture as bytes: %+v", is)
			}

			// Of a document it reads the text, with the name. One without text says so.
			var doc, bare project.Attachment
			c.send(http.StatusCreated, "POST", at+"?name=plan.docx", zipOf(t, "[Content_Types].xml", "<Types/>", "word/document.xml", "<w:document><w:p><w:r><w:t>A saola.</w:t></w:r></w:p></w:document>"), &doc)
			c.send(http.StatusCreated, "POST", at+"?name=bare.odt", zipOf(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", "<a/>"), &bare)
			one := func(id string) map[string]any {
				return map[string]any{"role": "user", "content": []any{map[string]any{"type": "document", "url": "attachment:" + id}, map[string]any{"type": "text", "text": "say I see"}}}
			}
			say("doc", one(doc.ID))
			if _, said := read(); !strings.Contains(said, "<file path=\"plan.docx\">\nA saola.\n</file>") || doc.Type != "application/vnd.openxmlformats-officedocument.wordprocessingml.document" {
				t.Errorf("of a document, %+v, the model read %q", doc, said)
			}
			if status, said := c.do(c.request("POST", "/v1/sessions/"+id+"/submit", fmt.Sprintf(`{"id":"bare","message":{"role":"user","content":[{"type":"document","url":"attachment:%s"}]}}`, bare.ID))); status != http.StatusUnprocessableEntity || !strings.Contains(string(said), "no text") {
				t.Errorf("a document without text: %d %s", status, said)
			}

			// The person gets them back, in parts too, and a browser runs nothing of them.
			got := c.send(http.StatusOK, "GET", at+"/"+pic.ID, "", nil)
			if got != string(data) {
				t.Errorf("the picture has %d bytes, the model read %d", len(got), len(data))
			}
			r := c.request("GET", at+"/"+text.ID+"?inline=true", "")
			r.Header.Set("Range", "bytes=4-7")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			part, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			head := fmt.Sprint(answer.StatusCode, answer.Header["Content-Disposition"], answer.Header["X-Content-Type-Options"], answer.Header["Content-Security-Policy"], answer.Header["Content-Type"])
			if string(part) != "word" || head != `206 [inline; filename="n\"otes .txt"] [nosniff] [sandbox; default-src 'none'] [text/plain; charset=utf-8]` {
				t.Errorf("%q with %s", part, head)
			}
			r = c.request("GET", at+"/"+pic.ID, "")
			r.Header.Set("If-None-Match", `"`+pic.ID+`"`)
			if status, _ := c.do(r); status != http.StatusNotModified {
				t.Errorf("again: %d", status)
			}

			// What a message has stays.
			c.must(http.StatusOK, "DELETE", at+"/"+spare.ID, nil, nil)
			c.must(http.StatusConflict, "DELETE", at+"/"+pic.ID, nil, nil)
			var list []project.Attachment
			c.must(http.StatusOK, "GET", at, nil, &list)
			if len(list) != 4 || !list[0].Used || list[0].Name != "me.png" {
				t.Errorf("listed %+v", list)
			}

			// Another person reaches none of it, by no operation and no message.
			bert := c.member(cmd, "bert", people.Member)
			for verb, path := range map[string]string{"GET": at, "POST": at + "?name=x", "GET ": at + "/" + pic.ID, "DELETE": at + "/" + pic.ID} {
				if status, said := bert.ask(c, strings.TrimSpace(verb), path, ""); status != http.StatusNotFound {
					t.Errorf("another person: %s %s: %d %s", verb, path, status, said)
				}
			}
			body := fmt.Sprintf(`{"message":{"id":"m","message":{"role":"user","content":[{"type":"image","url":"attachment:%s"}]}}}`, pic.ID)
			for _, url := range []string{"attachment:", "blob:attachment:"} {
				if status, said := bert.ask(c, "POST", "/v1/chats", strings.Replace(body, "attachment:", url, 1)); status != http.StatusNotFound {
					t.Errorf("another person's message: %d %s", status, said)
				}
			}
			if status, said := c.do(c.request("POST", at+"?name=a.zip", "PK\x03\x04"+strings.Repeat("\x00", 100))); status != http.StatusBadRequest || !strings.Contains(string(said), "models read") {
				t.Errorf("an archive: %d %s", status, said)
			}
			r = c.request("POST", at+"?name=large", "x")
			r.Body, r.ContentLength, r.GetBody = io.NopCloser(io.LimitReader(zeros{}, 300<<20)), 300<<20, nil
			r.Header.Set("Expect", "100-continue")
			if status, said := c.do(r); status != http.StatusRequestEntityTooLarge || !strings.Contains(string(said), "33554432") {
				t.Errorf("too large: %d %s", status, said)
			}

			// The next server finds them, and a fork has them.
			c.end()
			c = serveIt(t, cmd)
			say("again", saying("say still")["message"].(map[string]any))
			if again, _ := read(); !bytes.Equal(again, data) {
				t.Errorf("after a start the model read %d bytes of %d", len(again), len(data))
			}
			var fork chatOf
			c.must(http.StatusCreated, "POST", "/v1/chats/"+id+"/fork", map[string]any{}, &fork)
			c.must(http.StatusOK, "DELETE", "/v1/chats/"+id, nil, nil)
			c.must(http.StatusOK, "DELETE", "/v1/chats/"+id+"?purge=true", nil, nil)
			if got := c.send(http.StatusOK, "GET", "/v1/chats/"+fork.ID+"/attachments/"+pic.ID, "", nil); got != string(data) {
				t.Errorf("in the fork it has %d bytes", len(got))
			}
			c.send(http.StatusNotFound, "GET", at+"/"+pic.ID, "", nil)
			c.end()
			for _, word := range []string{"quagga", "okapi", "saola", string(data[100:140])} {
				if found := filesWith(t, filepath.Dir(cmd.Dir), word); len(found) > 0 {
					t.Errorf("%q is in the clear in %v", word, found)
				}
			}
		})
	}
}

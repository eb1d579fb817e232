package index_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/transcript"
	"github.com/burin-dev/burin/transcript/index"
)

// A session whose first answer comes while somebody lists it is listed.
func TestListWhileAnswered(t *testing.T) {
	s := newSessions(t)
	for i := range 300 {
		id := fmt.Sprint("s", i)
		path := s.put("/a", id, header(id, "/a", ""), said("e1", "user", "Why?"))
		if err := os.Rename(path, path+".draft"); err != nil {
			t.Fatal(err)
		}
		answered := make(chan error)
		go func() { answered <- os.Rename(path+".draft", path) }()
		list, err := index.List(t.Context(), s.root, index.ListOptions{})
		if err := errors.Join(err, <-answered); err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].ID != id {
			t.Fatalf("the list has %+v", list)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestList(t *testing.T) {
	s := newSessions(t)
	answer := said("e9", "assistant", "yes")
	info := `{"type":"session_info","id":"e8","parentId":"e9","name":"By name"}` + "\n"
	long := said("e7", "assistant", strings.Repeat("long ", 4000))
	s.put("/a", "prompt", header("prompt", "/a", ""), said("e1", "user", "\n\nWhy is the sky\nblue?"), answer)
	s.put("/a", "header", header("header", "/a", `,"title":"By header"`), said("e1", "user", "x"), answer)
	s.put("/a", "info", header("info", "/a", `,"title":"By header"`), said("e1", "user", "x"), long, info, answer)
	s.put("/a", "titleline", `{"type":"title","title":"By line"}`+"\n", header("titleline", "/a", ""), answer)
	s.put("/a", "silent", header("silent", "/a", ""), answer)
	s.put("/a", "empty", header("empty", "/a", ""), `{"type":"model_change","id":"e1","parentId":null,"model":"a/b"}`+"\n")
	s.put("/a", "waits", header("waits", "/a", ""), `{"type":"custom","id":"e1","parentId":null,"customType":"burin.queue","data":{"waiting":[]}}`+"\n")
	s.put("/a", "cut", header("cut", "/a", ""), said("e1", "user", "First words "+strings.Repeat("and more ", 2000)))
	s.put("/a", "handoff", header("handoff", "/a", ""), `{"type":"custom_message","id":"e1","parentId":null,"customType":"handoff","content":"the document"}`+"\n")
	s.put("/a", "nohead", `{"type":"session","vers`+"\n", said("e1", "user", "lost"), answer)
	s.put("/a", "oddhead", strings.Replace(header("oddhead", "/a", ""), `"version":3`, `"version":"3"`, 1), said("e1", "user", "all of it"), answer)
	s.put("/a", "badline", header("badline", "/a", ""), "rubbish\n", said("e1", "user", "still here"), answer)
	s.put("/a", "tornonce", header("tornonce", "/a", ""), said("e1", "user", "torn and gone on with"), `{"type":"mess`+"\n", answer)
	s.put("/a", "torn", header("torn", "/a", ""), said("e1", "user", "torn at the end"), answer, `{"type":"mess`)
	s.put("/a", "sealed", `{"type":"sealed","v":1,"id":"x"}`+"\n")
	draft := s.put("/a", "draft", header("draft", "/a", ""), said("e1", "user", "before the crash"))
	if err := os.Rename(draft, draft+".draft"); err != nil {
		t.Fatal(err)
	}
	s.put("/b", "other", header("other", "/b", ""), said("e1", "user", "elsewhere"), answer)
	s.put("/x/y", "twin", header("twin", "/x-y", ""), said("e1", "user", "the same folder name"), answer)
	s.write(filepath.Join(s.root, transcript.EncodeDir("/a"), "2026_prompt", "sub_agent.jsonl"), header("sub", "/a", ""), answer)
	s.write(filepath.Join(s.root, transcript.EncodeDir("/a"), "2026_prompt.jsonl.before-20260101"), header("old", "/a", ""), answer)

	type line struct {
		ID, CWD, Title           string
		Draft, Damaged, IsSealed bool
	}
	show := func(list []index.Info) (out []line) {
		for _, i := range list {
			out = append(out, line{i.ID, i.CWD, i.Title, i.Draft, i.Damaged, i.Sealed})
		}
		return out
	}
	want := []line{
		{ID: "draft", CWD: "/a", Title: "before the crash", Draft: true},
		{ID: "sealed", Title: "sealed", IsSealed: true},
		{ID: "torn", CWD: "/a", Title: "torn at the end"},
		{ID: "tornonce", CWD: "/a", Title: "torn and gone on with"},
		{ID: "badline", CWD: "/a", Title: "still here", Damaged: true},
		{ID: "oddhead", CWD: "/a", Title: "all of it", Damaged: true},
		{ID: "nohead", Title: "lost", Damaged: true},
		{ID: "handoff", CWD: "/a", Title: "handoff"},
		{ID: "cut", CWD: "/a", Title: "First words and more and more and more and more and more…"},
		{ID: "waits", CWD: "/a", Title: "waits"},
		{ID: "silent", CWD: "/a", Title: "silent"},
		{ID: "titleline", CWD: "/a", Title: "By line"},
		{ID: "info", CWD: "/a", Title: "By name"},
		{ID: "header", CWD: "/a", Title: "By header"},
		{ID: "prompt", CWD: "/a", Title: "Why is the sky"},
	}
	list := s.list(index.ListOptions{CWD: "/a"})
	if diff := cmp.Diff(want, show(list)); diff != "" {
		t.Error(diff)
	}
	if last := list[len(list)-1]; last.First != "Why is the sky blue?" || last.Created.Format("15:04:05") != "03:04:05" || last.Size == 0 {
		t.Errorf("%+v", last)
	}
	want = append([]line{{ID: "twin", CWD: "/x-y", Title: "the same folder name"}, {ID: "other", CWD: "/b", Title: "elsewhere"}}, want...)
	if diff := cmp.Diff(want, show(s.list(index.ListOptions{}))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[:3], show(s.list(index.ListOptions{Limit: 3}))); diff != "" {
		t.Error(diff)
	}
	if got := s.list(index.ListOptions{CWD: "/x/y"}); len(got) > 0 {
		t.Errorf("of another folder with the same name: %v", got)
	}
	s.root = filepath.Join(s.root, "nowhere")
	if got := s.list(index.ListOptions{}); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}

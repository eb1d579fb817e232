package index_test

import (
	"strings"
	"testing"

	"github.com/burin-dev/burin/transcript/index"
)

// Scripts without spaces are found within, and only as they stand there.
func TestSearchWithinRuns(t *testing.T) {
	s := newSessions(t)
	s.put("/a", "zh", said("z1", "user", "我们修复了登录页面的错误，测试通过。"))
	s.put("/a", "ja", said("j1", "user", "ログインのテストが東京サーバーで失敗する。"))
	s.put("/a", "th", said("t1", "user", "การทดสอบล้มเหลวบนเซิร์ฟเวอร์"))
	s.put("/a", "mix", said("m1", "user", "用Go语言写的API，error 404"))
	s.put("/a", "ko", said("k1", "user", "로그인 시험이 실패했다"))
	s.put("/a", "en", said("e1", "user", "nothing of it"))
	ix := s.index()
	s.update(ix)
	for query, want := range map[string][]string{
		"登录":      {"zh/z1"},
		"登录页面":    {"zh/z1"},
		"录登":      nil, // another order
		"错误登录":    nil,
		"错误 登录":   {"zh/z1"},
		"试":       {"zh/z1"},
		"東京":      {"ja/j1"},
		"サーバー":    {"ja/j1"},
		"テスト":     {"ja/j1"},
		"ทดสอบ":   {"th/t1"},
		"ล้มเหลว": {"th/t1"},
		"语言":      {"mix/m1"},
		"Go语言":    {"mix/m1"},
		"go":      {"mix/m1"},
		"api":     {"mix/m1"},
		`"写的API"`: {"mix/m1"},
		"测试 -登录":  nil,
		"测*":      {"zh/z1"},
		"실패*":     {"ko/k1"},
		"실패":      nil, // Korean has spaces
	} {
		s.want(ix, query, want...)
	}
}

// What marks the words in the index does not come back.
func TestSnippetOfARun(t *testing.T) {
	s := newSessions(t)
	s.put("/a", "zh", strings.Replace(said("z1", "user", "a=b 我们修复了登录页面的错误"), "=", `\u001f`, 1))
	ix := s.index()
	s.update(ix)
	hits, err := ix.Search(t.Context(), "登录", index.SearchOptions{})
	if err != nil || len(hits) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	h := hits[0]
	if h.Snippet != "a b 我们修复了登录页面的错误" || len(h.Marks) != 1 || h.Snippet[h.Marks[0][0]:h.Marks[0][1]] != "登录" {
		t.Errorf("snippet %q, marks %v", h.Snippet, h.Marks)
	}
}

func BenchmarkBroken(b *testing.B) {
	for name, text := range map[string]string{
		"ascii": strings.Repeat("the quick brown fox ", 200),
		"han":   strings.Repeat("我们修复了登录页面的错误", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				index.Broken(text)
			}
		})
	}
}

package slash_test

import (
	"testing"

	"github.com/burin-dev/burin/internal/host/slash"
	"github.com/burin-dev/burin/llm"
)

func TestFind(t *testing.T) {
	for text, want := range map[string]string{
		"/compact keep  the API ": "compact|keep  the API", "/cost": "cost|", "/costs": "", "compact": "", "/": "", " /cost": "", "/usr/bin": "",
	} {
		got := ""
		if c, arg, ok := slash.Find(llm.UserText(text), slash.Own{}); ok {
			got = c.Name + "|" + arg
		}
		if got != want {
			t.Errorf("%q calls %q, want %q", text, got, want)
		}
	}
	with := llm.UserText("/cost")
	with.Content = append(with.Content, llm.Image{})
	if _, _, ok := slash.Find(with, slash.Own{}); ok {
		t.Error("a text with a picture is a command")
	}
}

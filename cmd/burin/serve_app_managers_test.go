package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/burin-dev/burin/internal/chat/project"
	"github.com/burin-dev/burin/internal/pacetest"
)

// What a person attached to chats is listed in the page with pictures, opened, and removed where no message has it. The
// settings say how full their limit is.
func TestServeAppAttachments(t *testing.T) {
	t.Parallel()
	pacetest.Costly(t)
	for i, size := range [][2]int{{390, 844}, {1280, 800}} {
		dark := i == 1
		t.Run(fmt.Sprint(size[0], dark), func(t *testing.T) {
			t.Parallel()
			v := app(t, nil, size[0], size[1], dark)
			v.name = "attachments-" + v.name
			b, c := v.b, v.c
			attach := func(title string, files ...string) (chat string, all []project.Attachment) {
				t.Helper()
				var begun struct{ Chat chatOf }
				c.must(http.StatusCreated, "POST", "/v1/chats", map[string]any{"title": title}, &begun)
				for i := 0; i < len(files); i += 2 {
					var f project.Attachment
					c.send(http.StatusCreated, "POST", "/v1/chats/"+begun.Chat.ID+"/attachments?name="+files[i], files[i+1], &f)
					all = append(all, f)
				}
				return begun.Chat.ID, all
			}
			trip, files := attach("A trip to Basel", "bridge.png", string(pictureBytes(t, "")), "plan.txt", "By train.\n")
			attach("Recipes", "list.txt", "Quinces, sugar.\n", "other.txt", "Okapi.\n")
			var me struct{ ID string }
			c.must(http.StatusOK, "GET", "/v1/me", nil, &me)
			var all project.AllAttachments
			c.must(http.StatusOK, "GET", "/v1/attachments", nil, &all)
			if len(all.Chats) != 2 || all.Sum.Files != 4 || all.Unused.Files != 4 {
				t.Fatalf("all attachments are %+v", all)
			}
			c.must(http.StatusOK, "POST", "/v1/admin/people/"+me.ID, map[string]any{"quota": map[string]any{"storage": all.Sum.Bytes * 10 / 9}}, nil)
			c.must(http.StatusOK, "POST", "/v1/sessions/"+trip+"/submit", map[string]any{"id": "m", "message": map[string]any{"role": "user", "content": []any{
				map[string]any{"type": "image", "url": "attachment:" + files[0].ID}, map[string]any{"type": "text", "text": "look"},
			}}}, nil)

			b.Open(c.url + "/settings/attachments")
			b.Until(`document.querySelector('.thumb img')?.naturalWidth === 64`)
			v.shows("list", "4 files", "A trip to Basel", "bridge.png", "in a message", "in no message", "today", "(90%)", "Almost full")
			v.presses(".rows button", "Open bridge.png")
			b.Until(`document.querySelector('dialog img')?.naturalWidth === 64`)
			v.presses("dialog button", "Close")
			v.presses(".rows button", "Remove plan.txt")
			v.shows("question", "Remove plan.txt? This can't be undone.")
			v.presses(".ask button", "Remove")
			b.Until(`!document.querySelector('.panel').innerText.includes('plan.txt') && document.querySelector('.sum').innerText.includes('3 files')`)
			v.presses(".panel button", "Remove all that are in no message")
			v.presses(".ask button", "Remove")
			b.Until(`document.querySelectorAll('.rows > li').length === 1 && document.querySelector('.toasts').innerText.includes('2 files removed')`)
			v.shows("left", "1 file", "bridge.png")
			b.Eval(`document.querySelector('h3 a').click()`, nil)
			b.Until(`location.pathname === '/c/` + trip + `'`)
			b.Open(c.url + "/settings/usage")
			b.Until(`document.querySelector('.fill')`)
			v.shows("usage", "used (")
			b.Eval(`localStorage.setItem('language', 'de')`, nil)
			b.Open(c.url + "/settings/attachments")
			b.Until(`document.querySelector('.thumb img')`)
			v.shows("german", "Angehängte Dateien", "1 Datei", "in einer Nachricht", "heute")
		})
	}
}

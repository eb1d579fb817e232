package main

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Two models answer the same message next to each other, in chats of their own: what is written goes to both. A person goes
// on with one of them, takes that back, and has a chat that is there continued by another model, too.
func TestServeAppBeside(t *testing.T) {
	sized(t, func(t *testing.T, width, height int, dark bool) {
		brain := newBrain(t)
		v := appOn(t, brain.srv, machine(t, brain, rpcConfig), width, height, dark)
		v.name = "beside-" + v.name
		b := v.b
		asked := func(after int) (models []string) {
			for _, r := range brain.srv.Requests()[after:] {
				models = append(models, r.Model.ID)
			}
			slices.Sort(models)
			return models
		}
		choose := func() {
			t.Helper()
			b.Eval(`document.querySelector('.picker .chip').click()`, nil)
			b.Until(`document.querySelector('.several .more')`)
			b.Eval(`document.querySelector('.several .more').click()`, nil)
			b.Eval(`[...document.querySelectorAll('[role=option]')].find((e) => e.innerText.includes('box/two')).click()`, nil)
			b.Until(`document.querySelectorAll('[role=option][aria-selected=true]').length === 2 && document.querySelector('.several .first')`)
		}
		const calm = ` && !document.querySelector('[aria-busy=true], .go.stop')`
		b.Open(v.c.url + "/")
		b.Until(`document.querySelector('.picker .chip')?.innerText && document.querySelector('textarea')`)
		b.Eval(`document.querySelector('.picker .chip').click()`, nil)
		b.Until(`document.querySelector('[role=option]')`)
		b.Eval(`[...document.querySelectorAll('[role=option]')].find((e) => e.innerText.includes('box/one')).click()`, nil)
		choose()
		v.shows("models", "Ask 2 models")
		b.Eval(`document.querySelector('.several .first').click()`, nil)
		b.Until(`document.querySelector('.picker .chip').innerText.includes('+')`)
		v.sends("say **twice** as much")
		b.Until(`location.pathname.startsWith('/x/') && document.querySelectorAll('.columns .answer').length === 2` + calm)
		if got := asked(0); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("the models %v were asked", got)
		}
		v.shows("answers", "twice as much", "To all 2")
		both := strings.Split(strings.TrimPrefix(v.at(), "/x/"), ",")

		// The next message goes to both, and both are stopped.
		n := len(brain.srv.Requests())
		v.sends("gate say more")
		b.Until(`document.querySelectorAll('.columns .one').length === 2 && document.querySelector('.go.stop')`)
		v.shows("working")
		b.Press("Escape")
		b.Until(`!document.querySelector('.go.stop')`)
		if got := asked(n); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("then %v were asked", got)
		}
		brain.free()
		brain.free()

		// After a reload they are there again.
		b.Open(v.c.url + v.at())
		b.Until(`document.querySelectorAll('.columns .prompt').length === 4` + calm)

		// One is kept; the other one comes back.
		b.Eval(`document.querySelectorAll('.columns .one')[1].querySelector('button[title^="Keep"]').click()`, nil)
		b.Until(`location.pathname === '/c/` + both[1] + `' && document.querySelector('.toast button')`)
		chats := func() int {
			var all []chatOf
			v.c.must(http.StatusOK, "GET", "/v1/chats", nil, &all)
			return len(all)
		}
		if got := chats(); got != 1 {
			t.Errorf("%d chats are left", got)
		}
		b.Eval(`document.querySelector('.toast button').click()`, nil)
		b.Until(`document.querySelectorAll('.side .chat').length === 2`)

		// An open chat is continued by another model, too, with the draft that was written.
		v.writes("say and so on")
		b.Until(`document.querySelector('.answer')` + calm)
		b.Eval(`document.querySelector('.picker .chip').click()`, nil)
		b.Until(`document.querySelector('.several .more')`)
		b.Eval(`document.querySelector('.several .more').click()`, nil)
		b.Eval(`[...document.querySelectorAll('[role=option]')].find((e) => e.getAttribute('aria-selected') === 'false').click()`, nil)
		b.Until(`document.querySelector('.several .first')`)
		b.Eval(`document.querySelector('.several .first').click()`, nil)
		b.Until(`location.pathname.startsWith('/x/` + both[1] + `,') && document.querySelector('textarea')?.value === 'say and so on' && document.querySelectorAll('.columns .prompt').length === 4` + calm)
		n = len(brain.srv.Requests())
		b.Eval(`document.querySelector('.go').click()`, nil)
		b.Until(`[...document.querySelectorAll('.columns .one')].every((s) => [...s.querySelectorAll('.answer')].at(-1)?.innerText.includes('and so on'))` + calm)
		if got := asked(n); !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("in the fork %v were asked", got)
		}
		v.quiet("end")
	})
}
